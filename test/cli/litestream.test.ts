import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { openRaw } from '../support/open-raw.js';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

let mirror: FilledMirror;
beforeAll(async () => {
  mirror = await filledMirror();
  await mirror.sync();
});
afterAll(() => mirror.close());

/** Behaves towards the file as Litestream does: two tables of its own, a number that it writes, a lasting read transaction. */
function replicator(file: string) {
  const open = () => {
    const database = openRaw(file, { timeout: 1_000 });
    database.pragma('wal_autocheckpoint = 0');
    return database;
  };
  const writing = open();
  writing.exec('CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)');
  writing.exec('CREATE TABLE IF NOT EXISTS _litestream_lock (id INTEGER)');
  const reading = open();
  const hold = () => {
    reading.exec('BEGIN');
    reading.prepare('SELECT count(*) FROM _litestream_seq').get();
  };
  hold();
  return {
    /** Checkpoints as Litestream does: without its read transaction for a moment. */
    checkpoint() {
      reading.exec('ROLLBACK');
      writing.pragma('wal_checkpoint(TRUNCATE)');
      writing.exec('INSERT INTO _litestream_seq VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET seq = seq + 1');
      hold();
    },
    close() {
      reading.close();
      writing.close();
    },
  };
}

const pending = async (): Promise<number> => {
  const { out } = await mirror.run(['status', '--json']);
  return JSON.parse(out).erasures.pending;
};

/** Returns the only value of a query. */
const answer = async (sql: string, ...flags: readonly string[]): Promise<string | undefined> =>
  (await mirror.run(['query', '--csv', ...flags, sql])).out.trim().split('\n').at(-1)?.trim();

test('litestream: rosterd works beside a program that keeps reading the log, but an erasure waits until it stops', async () => {
  const replicating = replicator(join(mirror.folder, 'mirror.db'));
  const id = await answer('SELECT min(id) AS id FROM investments');
  await mirror.control('PATCH', `/investments/${id}`, { amounts: { committed_cents: 777_700 } });
  await mirror.sync();
  replicating.checkpoint();
  await mirror.control('PATCH', `/investments/${id}`, { amounts: { committed_cents: 888_800 } });
  await mirror.sync();
  expect(await answer(`SELECT committed_cents FROM investments WHERE id = '${id}'`)).toBe('888800');
  const person =
    (await answer('SELECT investor_id FROM identities JOIN investments USING (source, id) LIMIT 1')) ?? '';
  // Without the pauses in which it waits for the reader to finish.
  await mirror.run(['forget', person], { clock: { ...systemClock, wait: async () => {} } });
  expect(await pending()).toBeGreaterThan(0);
  expect((await mirror.run(['status'])).out).toContain('oldest erasure not yet scrubbed');
  expect((await mirror.run(['backup', 'copy.db'])).code).toBe(0);

  replicating.close();
  await mirror.sync();
  expect(await pending()).toBe(0);

  // What `litestream restore` writes is such a copy: with the two tables, and without anything that names its origin.
  const restored = await mirror.run(['restore', 'copy.db', '--set', 'database=sqlite:./restored.db']);
  expect(restored).toMatchObject({ code: 0 });
  const named = `SELECT count(*) AS n FROM identities JOIN investments USING (source, id) WHERE investor_id = '${person}'`;
  expect(await answer(named, '--database', 'restored.db')).toBe('0');
});
