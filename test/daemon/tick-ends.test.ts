import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { EngineParts } from '../../src/daemon/engine.js';
import type { OpenMirror } from '../../src/daemon/mirror-parts.js';
import { TickEnds } from '../../src/daemon/tick-ends.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';
import { removeBackups } from '../../src/store/dialect/sqlite/backups.js';
import { tempFolder } from '../store/temp-folder.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

test('tick ends: backups with erased people that could not be deleted are tried again every ten minutes', async () => {
  const clock = new VirtualClock();
  const warned: string[] = [];
  const file = join(tempFolder(), 'mirror.db');
  const [stuck, other] = [`${file}.schema-1.bak`, `${file}.schema-2.bak`];
  const mirror = {
    erasures: { pending: async () => ({ receipts: 0, since: null, residue: false, listing: false }) },
    upkeep: { removeErasedBackups: () => removeBackups(file, Number.POSITIVE_INFINITY) },
  };
  const config = { notices: [], history: {}, console: null, database: { kind: 'sqlite', file } };
  const logger = { ...silentLogger, warn: (_: object, message: string) => warned.push(message) };
  const parts = { config, clock, logger } as unknown as EngineParts;
  const ends = new TickEnds({ mirror: mirror as unknown as OpenMirror }, parts);
  // A folder cannot be deleted as a file can.
  mkdirSync(stuck);
  writeFileSync(other, 'CANARY');
  await ends.finish([]);
  expect([existsSync(other), warned]).toEqual([false, ['backups with erased identities remain; retrying']]);
  rmdirSync(stuck);
  writeFileSync(stuck, 'CANARY');
  await ends.finish([]);
  expect(existsSync(stuck)).toBe(true);
  await clock.advance(10 * 60_000);
  await ends.finish([]);
  expect([existsSync(stuck), warned.length]).toEqual([false, 1]);
  await ends.close();
});

test('tick ends: erased bytes are scrubbed at once and then ten minutes apart, a failure waits, and nothing is done after the end', async () => {
  // A machine that was started a minute ago.
  const clock = new VirtualClock(60_000);
  const begun = clock.monotonic();
  const tried: number[] = [];
  const warned: string[] = [];
  let scrubs = 0;
  let looks = 0;
  let isFailing = false;
  let isStopping: Promise<void> | undefined;
  const mirror = {
    erasures: {
      pending: async () => {
        if (isStopping !== undefined) await isStopping;
        if (isFailing) throw new Error('the database is away');
        return { receipts: 1, since: instantFromMillis(clock.now()), residue: false, listing: false };
      },
    },
    upkeep: {
      removeErasedBackups: () => {
        looks += 1;
      },
      scrub: async () => {
        scrubs += 1;
        tried.push((clock.monotonic() - begun) / 60_000);
        return { kind: 'scrubbed', erasures: 1 };
      },
    },
  };
  const config = { notices: [], history: {}, console: null, database: { kind: 'sqlite', file: 'none' } };
  const logger: Logger = { ...silentLogger, warn: (_, message) => warned.push(message), child: () => logger };
  const parts = { config, clock, logger } as unknown as EngineParts;
  const ends = new TickEnds({ mirror: mirror as unknown as OpenMirror }, parts);
  for (let minute = 0; minute < 25; minute += 1) {
    await ends.finish([]);
    clock.jump(60_000);
  }
  expect(tried).toEqual([0, 10, 20]);
  isFailing = true;
  await ends.finish([]);
  expect(warned).toEqual(['notices, or bytes of erased identities, wait for the next tick']);
  // What the end of the program interrupts is no failure.
  let stop = () => {};
  isStopping = new Promise((resolve) => {
    stop = resolve;
  });
  const last = ends.finish([]);
  const closed = ends.close();
  stop();
  await Promise.all([last, closed]);
  isFailing = false;
  looks = 0;
  clock.jump(3_600_000);
  await ends.finish([]);
  expect([scrubs, looks, warned.length]).toEqual([3, 0, 1]);
});
