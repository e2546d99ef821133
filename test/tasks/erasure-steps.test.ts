import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configFromObject } from '../../src/config/from-object.js';
import type { OpenMirror } from '../../src/daemon/mirror-parts.js';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import { syncLake } from '../../src/reading/lake.js';
import { publishExports } from '../../src/reading/publish-exports.js';
import { systemClock } from '../../src/runtime/clock.js';
import { afterErasing, retriedWhileBusy, withMirror } from '../../src/tasks/erasure-steps.js';
import { FakeClock } from '../client/fake-clock.js';
import { freshMirror, seedIdentity, seedInvestment, seedSource } from '../store/support/mirror.js';
import { tempFolder } from '../store/temp-folder.js';
import { testRandom } from '../support/chance.js';

const signal = new AbortController().signal;

/** A mirror with two sources, a person in each, an export with names and, unless `without` it, a lake with names. */
async function world(without?: 'lake') {
  const home = tempFolder();
  const database = freshMirror();
  for (const [no, name] of ['acme', 'beta'].entries()) {
    seedSource(database, no + 1, { name });
    const row = seedInvestment(database, no + 1, `inv_${name}`, { investor_id: `usr_${name}` });
    seedIdentity(database, row, { name: `CANARY-${name}` });
  }
  const config = configFromObject(
    {
      platform: { baseUrl: 'https://api.example.com' },
      database: `sqlite:${database.file}`,
      sources: [{ name: 'acme', token: { env: 'A' } }],
      forget: { ledger: join(home, 'forgotten.jsonl') },
      exports: { folder: join(home, 'exports'), identity: true },
      lake: { folder: join(home, 'lake'), identity: true },
    },
    { cwd: home, env: {} },
  );
  const { folder, keep } = config.lake;
  await publishExports(
    config.database,
    { folder: config.exports.folder, format: 'csv', tables: ['roster'], identity: true },
    { clock: systemClock, random: testRandom(), signal },
  );
  if (without !== 'lake')
    await syncLake(config.database, { folder, keep, identity: true, compact: false }, systemClock, signal);
  const erase = (name: string) =>
    withMirror(config, systemClock, signal, async (mirror) => {
      const { rows } = await mirror.eraser.erase(name as SourceName);
      return { rows, ...(await afterErasing(config, mirror, systemClock, signal)) };
    });
  return { database, config, erase, people: () => bytesBelow(home) + bytesOf(database.file) };
}

const bytesOf = (file: string) =>
  ['', '-wal'].map((end) => (existsSync(file + end) ? readFileSync(file + end, 'latin1') : '')).join('');

function bytesBelow(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  return files.map((file) => (statSync(file).isFile() ? readFileSync(file, 'latin1') : '')).join('');
}

test('an erased source is gone from the mirror, its bytes, the exports with names and the lake, and others stay', async () => {
  const { database, config, erase, people } = await world();
  for (const folder of [config.lake.folder, config.exports.folder])
    expect(bytesBelow(folder)).toContain('CANARY-acme');
  expect(await erase('acme')).toEqual({
    rows: 3,
    bytes: 'scrubbed',
    pending: 0,
    pending_since: null,
    backups_removed: [],
    exports_removed: [expect.stringContaining('exports')],
    exports_damaged: [],
    lake: 'rewritten',
    other_hosts: false,
  });
  database.close();
  expect(await erase('acme')).toMatchObject({ rows: 0, bytes: 'scrubbed', pending: 0, exports_removed: [] });
  expect(people()).not.toContain('CANARY-acme');
  expect(people()).toContain('CANARY-beta');
  expect(readdirSync(config.exports.folder)).toEqual([]);
});

test('files with names are deleted before the scrub, which may fail, and the error says that the erasure is committed', async () => {
  const { config } = await world('lake');
  const mirror = {
    upkeep: {
      removeBackups: () => [],
      scrub: () => Promise.reject(new Fault('database_full', 'no room')),
    },
  };
  await expect(
    afterErasing(config, mirror as unknown as OpenMirror, systemClock, signal),
  ).rejects.toMatchObject({
    code: 'database_full',
    message: 'the erasure is committed, but bytes of it may remain: no room',
  });
  expect(readdirSync(config.exports.folder)).toEqual([]);
});

test('an old backup that cannot be deleted keeps neither exports nor bytes, and the error names the backups', async () => {
  const { config } = await world('lake');
  let isScrubbed = false;
  const mirror = {
    upkeep: {
      removeBackups: () => {
        throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
      },
      scrub: async () => {
        isScrubbed = true;
        return { kind: 'clean' };
      },
    },
  };
  await expect(
    afterErasing(config, mirror as unknown as OpenMirror, systemClock, signal),
  ).rejects.toMatchObject({
    code: 'usage',
    message:
      'the erasure is committed, but bytes of it may remain: backups made before a schema migration cannot be deleted (EPERM)',
    about: {
      hint: expect.stringMatching(/^Delete them as the user who owns them, then run the same command/),
    },
  });
  expect([isScrubbed, readdirSync(config.exports.folder)]).toEqual([true, []]);
});

test('what an erasure reports of bytes, and of a failure while it deletes files', async () => {
  const { config } = await world('lake');
  const erasing = (kind: string, receipts: number, removed: () => readonly string[] = () => []) => {
    const upkeep = { removeBackups: removed, scrub: async () => ({ kind }) };
    const erasures = { pending: async () => ({ receipts, since: null }) };
    return afterErasing(config, { upkeep, erasures } as unknown as OpenMirror, systemClock, signal);
  };
  const failing = (error: Error) =>
    erasing('clean', 0, () => {
      throw error;
    });
  expect((await erasing('clean', 1)).bytes).toBe('scrubbed');
  expect((await erasing('blocked', 1)).bytes).toBe('blocked');
  // The process that blocked it was scrubbing itself.
  expect((await erasing('blocked', 0)).bytes).toBe('scrubbed');
  await expect(failing(new Fault('database_busy', 'away', { hint: 'Wait.' }))).rejects.toMatchObject({
    code: 'database_busy',
    message: 'the erasure is committed, but bytes of it may remain: away',
    about: { hint: expect.stringMatching(/^Run the same command again/) },
  });
  await expect(failing(new RangeError('a bug'))).rejects.toThrow(new RangeError('a bug'));
});

test('what a busy database refuses is repeated for half a minute, anything else is not', async () => {
  const clock = new FakeClock();
  const calls = async (end: unknown, stop: AbortSignal, millis = Number.POSITIVE_INFINITY) => {
    let count = 0;
    const from = clock.monotonic();
    const attempt = () => {
      count += 1;
      if (clock.monotonic() - from < millis) throw end;
      return 'done';
    };
    const result = await retriedWhileBusy(clock, stop, attempt).catch((error: unknown) => error);
    return [count, clock.monotonic() - from, result];
  };
  const busy = new Fault('database_busy', 'busy');
  const full = new Fault('database_full', 'full');
  expect(await calls(busy, signal, 600)).toEqual([4, 600, 'done']);
  expect(await calls(busy, signal)).toEqual([151, 30_000, busy]);
  expect(await calls(busy, AbortSignal.abort())).toEqual([1, 0, busy]);
  expect(await calls(full, signal)).toEqual([1, 0, full]);
});

test('after the last source is erased, the lake has no person left', async () => {
  const { database, erase, people } = await world();
  database.close();
  await erase('acme');
  expect(await erase('beta')).toMatchObject({ rows: 3, bytes: 'scrubbed', lake: 'rewritten' });
  expect(people()).not.toContain('CANARY-');
});

test('a source that was never stored is erased without a change', async () => {
  const { database, erase } = await world('lake');
  database.close();
  expect(await erase('other')).toMatchObject({ rows: 0, bytes: 'scrubbed' });
});
