import { chownSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type LakeDisk, systemLakeDisk } from '../../../src/exports/lake/disk.js';
import { withLakeLock } from '../../../src/exports/lake/lock.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { processName } from '../../../src/runtime/process-identity.js';
import { seededRandom } from '../../../src/runtime/random.js';
import { mirrorFixture } from '../../store/mirror-fixture.js';
import { record } from '../../store/samples.js';
import { tempFolder } from '../../store/temp-folder.js';
import { sync } from './world.js';

const parts = { clock: systemClock, random: seededRandom(3) };
const busy = { code: 'database_busy' };

function lockedBy(holder: string): string {
  const folder = join(tempFolder(), 'lake');
  mkdirSync(folder);
  const path = join(folder, '_lock');
  writeFileSync(path, holder);
  // As after a suspend or a clock that jumped forward: it seems not to have been renewed for years.
  utimesSync(path, 0, 0);
  return folder;
}

test('lake lock: an old lock of a process that runs on this machine is not taken over', async () => {
  const holder = `${processName()}:another`;
  const folder = lockedBy(holder);
  await expect(withLakeLock(folder, parts, async () => {})).rejects.toMatchObject(busy);
  expect(readFileSync(join(folder, '_lock'), 'utf8')).toBe(holder);
});

test('lake lock: an old lock of another host is taken over, a new one is not', async () => {
  const folder = lockedBy('elsewhere:1:2.3.abc:another');
  expect(await withLakeLock(folder, parts, async () => 'ran')).toBe('ran');
  writeFileSync(join(folder, '_lock'), 'elsewhere:1:2.3.abc:another');
  await expect(withLakeLock(folder, parts, async () => {})).rejects.toMatchObject(busy);
});

test.skipIf(process.platform !== 'linux')(
  'lake lock: the lock of a process that ended is taken over',
  async () => {
    const [host, , rest] = processName().split(':');
    const folder = lockedBy(`${host}:4194999:${rest}:another`);
    expect(await withLakeLock(folder, parts, async () => 'ran')).toBe('ran');
  },
);

test('lake lock: it is renewed with the time of the system, and only while it is held', async () => {
  const folder = join(tempFolder(), 'lake');
  mkdirSync(folder);
  const path = join(folder, '_lock');
  const due = new EventTarget();
  // A clock that stood still at the epoch, as during a suspend.
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    wait: (_: number, signal?: Pick<AbortSignal, 'aborted' | 'addEventListener'>) =>
      new Promise<void>((resolve) => {
        if (signal?.aborted === true) resolve();
        signal?.addEventListener('abort', () => resolve(), { once: true });
        due.addEventListener('renew', () => resolve(), { once: true });
      }),
  };
  await withLakeLock(folder, { ...parts, clock }, async () => {
    const renewed = () => statSync(path).mtimeMs;
    utimesSync(path, 5, 5);
    due.dispatchEvent(new Event('renew'));
    await expect.poll(renewed).not.toBe(5_000);
    expect(Math.abs(renewed() - Date.now())).toBeLessThan(60_000);
    writeFileSync(path, 'elsewhere:1:2.3.abc:another');
    utimesSync(path, 5, 5);
    due.dispatchEvent(new Event('renew'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(renewed()).toBe(5_000);
  });
  expect(readFileSync(path, 'utf8')).toContain('elsewhere');
});

test.skipIf(process.geteuid?.() !== 0)(
  'lake lock: that of root belongs to the user of the lake, who would otherwise take it for an old one',
  async () => {
    const folder = join(tempFolder(), 'lake');
    mkdirSync(folder);
    chownSync(folder, 65_534, 65_534);
    const { uid, mode } = await withLakeLock(folder, parts, async () => statSync(join(folder, '_lock')));
    expect([uid, mode & 0o777]).toEqual([65_534, 0o600]);
  },
);

test('lake lock: a sync that lost its lock publishes nothing', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1')]]);
  const folder = join(tempFolder(), 'lake');
  await sync(fixture, folder);
  const pointer = () => readFileSync(join(folder, '_current.json'), 'utf8');
  const before = pointer();
  await fixture.delta([record('inv_2')]);
  const taken = 'elsewhere:1:2.3.abc:another';
  const disk: LakeDisk = {
    ...systemLakeDisk,
    protect: async (path) => {
      writeFileSync(join(folder, '_lock'), taken);
      await systemLakeDisk.protect(path);
    },
  };
  await expect(sync(fixture, folder, { disk })).rejects.toMatchObject(busy);
  expect(pointer()).toBe(before);
  expect(readFileSync(join(folder, '_lock'), 'utf8')).toBe(taken);
});
