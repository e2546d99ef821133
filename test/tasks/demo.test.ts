import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { startDemo } from '../../src/tasks/demo.js';
import { freshFolder } from '../daemon/daemon-fixture.js';
import { testRandom } from '../support/chance.js';
import { openRaw } from '../support/open-raw.js';

test('demo: a signal during the first listing ends it after a page, and leaves the file to the next start', async () => {
  const file = join(freshFolder(), 'mirror.db');
  const stopping = new AbortController();
  const started = startDemo({
    file,
    sandbox: { seed: 1, companies: 1, records: 3_000, limits: false },
    pauseMillis: 1_000,
    clock: systemClock,
    random: testRandom(),
    logger: silentLogger,
    onTick: () => {},
    blocking: (work) => work(),
    signal: stopping.signal,
  });
  const ended = started.then(
    async (demo) => {
      await demo.close();
      return 'started';
    },
    (error: unknown) => error,
  );
  await expect.poll(() => incoming(file)).toBeGreaterThan(0);
  stopping.abort();
  expect(await ended).toMatchObject({ code: 'stopped' });
  expect(existsSync(`${file}.demo.lock`)).toBe(false);
  expect(incoming(file)).toBeLessThan(3_000);
});

test('demo: seeding the platform runs as work that blocks, and not at all after a signal', async () => {
  const stopping = new AbortController();
  let seeded = 0;
  const start = () =>
    startDemo({
      file: join(freshFolder(), 'mirror.db'),
      sandbox: { seed: 1, companies: 1, records: 10, limits: false },
      pauseMillis: 1_000,
      clock: systemClock,
      random: testRandom(),
      logger: silentLogger,
      onTick: () => {},
      blocking: async (work) => {
        const done = await work();
        seeded += 1;
        stopping.abort();
        return done;
      },
      signal: stopping.signal,
    });
  await expect(start()).rejects.toMatchObject({ code: 'stopped' });
  expect(seeded).toBe(1);
  await expect(start()).rejects.toMatchObject({ code: 'stopped' });
  expect(seeded).toBe(1);
});

test.each([
  ['a name that is too long', 'a'.repeat(300), 'aaa is too long a name for a file'],
  ['a name that is too long for its lock', 'a'.repeat(249), 'aaa is too long a name for a file'],
  ['a file as its folder', 'file/mirror.db', '/file cannot be written'],
])('demo: %s is reported as such', async (_, name, message) => {
  const folder = freshFolder();
  writeFileSync(join(folder, 'file'), '');
  const start = startDemo({
    file: join(folder, name),
    sandbox: { seed: 1, companies: 1, records: 10, limits: false },
    pauseMillis: 1_000,
    clock: systemClock,
    random: testRandom(),
    logger: silentLogger,
    onTick: () => {},
    blocking: (work) => work(),
    signal: new AbortController().signal,
  });
  await expect(start).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining(message),
  });
});

/** Returns how many records of an unfinished listing are stored. */
function incoming(file: string): number {
  if (!existsSync(`${file}-wal`)) return 0;
  const reader = openRaw(file, { readonly: true });
  try {
    return reader.prepare('SELECT count(*) FROM incoming').pluck().get() as number;
  } catch {
    // Its tables are not made yet.
    return 0;
  } finally {
    reader.close();
  }
}
