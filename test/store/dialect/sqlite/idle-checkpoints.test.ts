import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../../../src/runtime/clock.js';
import type { Interruption } from '../../../../src/runtime/interruption.js';
import {
  commitsMin,
  IdleCheckpoints,
  logPagesMax,
  pauseMillis,
} from '../../../../src/store/dialect/sqlite/idle-checkpoints.js';
import { openSqlite } from '../../../../src/store/dialect/sqlite/open.js';
import { tempFolder } from '../../temp-folder.js';

/** A clock whose waits end by hand, or when they are aborted. */
class HeldClock implements Clock {
  readonly waits: { readonly millis: number; readonly end: () => void }[] = [];
  now(): number {
    return 0;
  }
  monotonic(): number {
    return 0;
  }
  wait(millis: number, signal?: Interruption): Promise<void> {
    return new Promise((resolve) => {
      this.waits.push({ millis, end: resolve });
      signal?.addEventListener('abort', resolve, { once: true });
    });
  }
  /** Ends the waits, and lets what follows them run. */
  async pass(): Promise<void> {
    for (const { end } of this.waits.splice(0)) end();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function opened() {
  const database = openSqlite(join(tempFolder(), 'mirror.db'));
  const { raw, file } = database;
  onTestFinished(() => database.close());
  raw.exec('CREATE TABLE t (no INTEGER PRIMARY KEY, x BLOB)');
  raw.pragma('wal_checkpoint(TRUNCATE)');
  const clock = new HeldClock();
  const checkpoints = new IdleCheckpoints(database, clock);
  const insert = raw.prepare('INSERT INTO t (x) VALUES (zeroblob(?))');
  const commit = (bytes = 100) => {
    insert.run(bytes);
    checkpoints.committed();
  };
  const fileBytes = () => statSync(file).size;
  const logBytes = () => statSync(`${file}-wal`).size;
  return { raw, clock, checkpoints, commit, fileBytes, logBytes };
}

const times = (count: number, work: () => void) => {
  for (let n = 0; n < count; n += 1) work();
};

test('the log is copied into the file in the first pause after enough commits, and not before', async () => {
  const { clock, commit, fileBytes } = opened();
  const before = fileBytes();
  times(commitsMin - 1, () => commit(5_000));
  expect(clock.waits).toEqual([]);
  commit(5_000);
  expect(clock.waits).toMatchObject([{ millis: pauseMillis }]);
  // A commit during the wait: this was no pause.
  commit(5_000);
  await clock.pass();
  expect(fileBytes()).toBe(before);
  await clock.pass();
  expect(fileBytes()).toBeGreaterThan(before + commitsMin * 5_000);
  expect(clock.waits).toEqual([]);
});

test('without a pause, a commit copies the log when it has 16 MB, and it does not grow further', () => {
  const { commit, logBytes } = opened();
  const mostBytes = () => (logPagesMax + 100) * (4_096 + 24);
  times(150, () => commit(200_000));
  expect(logBytes()).toBeGreaterThan(8 * 1_024 * 1_024);
  expect(logBytes()).toBeLessThan(mostBytes());
});

test('pages of a listing copy the log when it has 2 MB', () => {
  const { checkpoints, commit, logBytes, raw } = opened();
  times(150, () => checkpoints.oftenWhile(() => commit(200_000)));
  expect(logBytes()).toBeLessThan(3 * 1_024 * 1_024);
  expect(raw.pragma('wal_autocheckpoint', { simple: true })).toBe(logPagesMax);
});

test('closing ends the wait for a pause, and nothing is copied afterwards', async () => {
  const { clock, checkpoints, commit, fileBytes } = opened();
  const before = fileBytes();
  times(commitsMin, () => commit(5_000));
  await checkpoints.close();
  await clock.pass();
  expect(fileBytes()).toBe(before);
});
