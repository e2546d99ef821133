import { once } from 'node:events';
import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { describe, expect, test as onSqlite } from 'vitest';
import type { InvestmentId, UserId } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import { seededRandom } from '../../src/runtime/random.js';
import { SqliteErasures } from '../../src/store/dialect/sqlite/erasures.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { scrub } from '../../src/store/dialect/sqlite/scrub.js';
import { test } from './both-databases.js';
import { bytesOf, erasuresOn, freshStore, rowsOf, type Store } from './mirror-fixture.js';
import * as sqlite from './support/mirror.js';
import { recordDefaults, StandingClock, statusOf } from './support/mirror.js';
import { seedIdentity, seedInvestment, seedRow, seedSource } from './support/seeds.js';

const inv = (id: string) => id as InvestmentId;
const usr = (id: string) => id as UserId;

async function fresh() {
  const clock = new StandingClock();
  const store = await freshStore();
  await seedSource(store, 1);
  await seedSource(store, 2);
  return { clock, store, erasures: erasuresOn(store, clock) };
}

/** Returns the values of the first column. */
const column = async (store: Store, sql: string) =>
  (await rowsOf(store, sql)).map((row) => Object.values(row as object)[0]);

describe('forgetting', () => {
  test('forgetting an investor erases them in every source and every working table; others stay', async () => {
    const { store, erasures } = await fresh();
    const mine = await seedInvestment(store, 1, 'inv_a', { investor_id: 'usr_x' });
    await seedIdentity(store, mine, { name: 'CANARY' });
    const other = await seedInvestment(store, 2, 'inv_b', { investor_id: 'usr_x' });
    await seedIdentity(store, other, { email: 'CANARY' });
    const stays = await seedInvestment(store, 1, 'inv_c', { investor_id: 'usr_y' });
    await seedIdentity(store, stays, { name: 'Other' });
    const staged = (id: string, investor: string) =>
      seedRow(store, 'staged_rows', {
        ...recordDefaults,
        source_no: 1,
        id,
        investor_id: investor,
        identity: '{"name":"CANARY"}',
      });
    await staged('inv_d', 'usr_x');
    await staged('inv_e', 'usr_y');
    await seedRow(store, 'staged_rows', {
      ...recordDefaults,
      ...{ source_no: 2, id: 'inv_f', investor_id: 'usr_x', identity: null, extra: '{"x":"CANARY"}' },
    });
    const quarantined = { source_no: 1, problem: 'p', seen_at: 'now' };
    await seedRow(store, 'quarantine_rows', { ...quarantined, id: 'inv_d', body: 'CANARY' });
    await seedRow(store, 'quarantine_rows', {
      ...quarantined,
      id: null,
      body: '{"investor":{"id":"usr_x","name":"CANARY"}}',
    });
    await seedRow(store, 'quarantine_rows', { ...quarantined, id: 'inv_z', body: 'kept' });
    const event = { installation: 'i', event: 'e', received_at: 'now' };
    await seedRow(store, 'webhook_inbox', { ...event, event_id: '1', investment: 'inv_a', body: 'CANARY' });
    await seedRow(store, 'webhook_inbox', { ...event, event_id: '2', body: 'kept' });

    expect(await erasures.forget(usr('usr_x'))).toMatchObject({ identities: 2, already: false });

    expect(await column(store, 'SELECT name FROM identity_rows')).toEqual(['Other']);
    expect(await column(store, 'SELECT coalesce(identity, extra) FROM staged_rows ORDER BY id')).toEqual([
      null,
      '{"name":"CANARY"}',
      null,
    ]);
    expect(await column(store, 'SELECT body FROM quarantine_rows ORDER BY quarantine_no')).toEqual([
      null,
      null,
      'kept',
    ]);
    expect(await column(store, 'SELECT body FROM webhook_inbox ORDER BY inbox_no')).toEqual([null, 'kept']);
    expect(await column(store, 'SELECT count(*) FROM investments')).toEqual([3]);
    expect(await rowsOf(store, 'SELECT id, cause, invisible_at, scrubbed_at FROM erasures')).toEqual([
      { id: 'usr_x', cause: 'forget', invisible_at: '2026-10-20T12:00:00.000Z', scrubbed_at: null },
    ]);
  });

  test('forgetting an investment erases only that one, and it stays forgotten until it is lifted', async () => {
    const { clock, store, erasures } = await fresh();
    const rows = [await seedInvestment(store, 1, 'inv_a'), await seedInvestment(store, 1, 'inv_b')] as const;
    await seedIdentity(store, rows[0], { name: 'inv_a' });
    await seedIdentity(store, rows[1], { name: 'inv_b' });
    const invisibleAt = '2026-10-20T12:00:00.000Z';
    expect(await erasures.forget(inv('inv_a'))).toEqual({ identities: 1, already: false, invisibleAt });
    clock.advance(1_000);
    expect(await erasures.forget(inv('inv_a'))).toEqual({ identities: 0, already: true, invisibleAt });
    // A name that came back by other means was visible until now.
    await seedIdentity(store, rows[0], { name: 'inv_a' });
    expect(await erasures.forget(inv('inv_a'))).toEqual({
      ...{ identities: 1, already: true, invisibleAt: '2026-10-20T12:00:01.000Z' },
    });
    expect(await column(store, 'SELECT id FROM identities')).toEqual(['inv_b']);
    expect(await column(store, 'SELECT id FROM forgotten')).toEqual(['inv_a']);
    expect(await erasures.lift(inv('inv_a'))).toBe(true);
    expect(await erasures.lift(inv('inv_a'))).toBe(false);
    // An erasure that nobody requested.
    const [erased, scrubbed] = ['2026-10-18T12:00:00.000Z', '2026-10-19T12:00:00.000Z'];
    const tombstone = { source_no: 1, id: 'inv_b', cause: 'tombstone', invisible_at: erased };
    await seedRow(store, 'erasures', { ...tombstone, scrubbed_at: scrubbed });
    expect([...(await erasures.requests())]).toEqual([['inv_a', '2026-10-20T12:00:01.000Z']]);
    expect(await erasures.pending()).toEqual({
      ...{ receipts: 3, since: invisibleAt, residue: false, listing: false },
    });
  });
});

test('people whom a restored copy brought back are erased again, and an unknown id stays forgotten', async () => {
  const { clock, store, erasures } = await fresh();
  const row = await seedInvestment(store, 1, 'inv_a', { investor_id: 'usr_x' });
  await seedIdentity(store, row, { name: 'CANARY' });
  const at = '2026-10-01T00:00:00.000Z' as Instant;
  clock.advance(1_000);
  const people = [
    { id: usr('usr_x'), at },
    { id: usr('usr_nobody'), at },
  ];
  expect(await erasures.recall(people)).toBe(1);
  expect(await column(store, 'SELECT name FROM identity_rows')).toEqual([]);
  const stored = await rowsOf(store, 'SELECT id, forgotten_at AS at FROM forgotten ORDER BY id DESC');
  expect(stored).toEqual(people);
  expect([...(await erasures.requests())]).toEqual([['usr_x', '2026-10-20T12:00:01.000Z']]);
});

test('forgetting an unknown id is refused with a hint, and nothing is stored about it', async () => {
  const { store, erasures } = await fresh();
  await seedRow(store, 'quarantine_rows', { source_no: 1, problem: 'p', body: 'usr_other', seen_at: 'now' });
  await expect((async () => await erasures.forget(usr('usr_nobody')))()).rejects.toThrow(
    /usr_nobody is neither/,
  );
  expect(await column(store, 'SELECT count(*) FROM forgotten')).toEqual([0]);
});

/** So many that pages are split. */
const people = 300;
const few = 10;

const crowd = async (store: Store, count = people) => {
  for (let n = 0; n < count; n++) {
    const row = await seedInvestment(store, 1, `inv_${n}`, { investor_id: `usr_${n}` });
    await seedIdentity(store, row, {
      name: `CANARY-${n}-`,
      bio: 'b'.repeat((n * 37) % 900),
      email: `CANARY-${n}-@e`,
    });
  }
};

/** Returns the numbers of the people with a byte sequence in the text. */
const peopleIn = (text: string) =>
  new Set(Array.from(text.matchAll(/CANARY-(\d+)-/g), ([, number]) => Number(number)));

describe('scrubbing', () => {
  test('after a scrub no file of the database contains any byte of a forgotten person', async () => {
    const { store, erasures, clock } = await fresh();
    await crowd(store);
    expect(await bytesOf(store)).toContain('CANARY-7-');
    for (let n = 0; n < people; n += 2) await erasures.forget(usr(`usr_${n}`));
    clock.advance(1_000);
    expect(await erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: people / 2 });
    const left = peopleIn(await bytesOf(store));
    for (let n = 0; n < people; n += 1) expect(left.has(n), `person ${n}`).toBe(n % 2 === 1);
    expect(await column(store, 'SELECT DISTINCT scrubbed_at FROM erasures')).toEqual([
      '2026-10-20T12:00:01.000Z',
    ]);
    expect(await erasures.scrub()).toEqual({ kind: 'clean' });
  });

  test.each([
    // PostgreSQL deletes identity rows by a separate statement, SQLite together with the investment row.
    [
      'a tombstone',
      [
        "DELETE FROM investment_rows WHERE id = 'inv_5'",
        "DELETE FROM identity_rows WHERE name = 'CANARY-5-'",
      ],
    ],
    ['a redacted name', ["UPDATE identity_rows SET name = NULL, email = NULL WHERE name = 'CANARY-5-'"]],
    ['a lost scope', ['DELETE FROM identity_rows']],
  ])('%s requests a scrub by itself', async (_, statements) => {
    const { store, erasures } = await fresh();
    await crowd(store, few);
    for (const sql of statements) await rowsOf(store, sql);
    expect(await erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
    expect(await bytesOf(store)).not.toContain('CANARY-5-');
    expect(await rowsOf(store, 'SELECT cause, id FROM erasures')).toEqual([{ cause: 'removed', id: null }]);
  });

  test('deleting a staged row or a quarantined body requests a scrub', async () => {
    const { store, erasures } = await fresh();
    const identity = '{"name":"CANARY"}';
    await seedRow(store, 'staged_rows', { ...recordDefaults, source_no: 1, id: 'inv_s', identity });
    await rowsOf(store, 'DELETE FROM staged_rows');
    expect((await erasures.scrub()).kind).toBe('scrubbed');
    await seedRow(store, 'quarantine_rows', { source_no: 1, problem: 'p', body: 'CANARY', seen_at: 'now' });
    await rowsOf(store, 'UPDATE quarantine_rows SET body = NULL');
    await seedInvestment(store, 1, 'inv_a');
    // Its receipt is another one.
    await erasures.forget(inv('inv_a'));
    expect(await erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 2 });
    expect(await bytesOf(store)).not.toContain('CANARY');
  });

  test('rewriting an identity row without a change requests no scrub', async () => {
    const { store, erasures } = await fresh();
    await crowd(store, few);
    await rowsOf(store, 'UPDATE identity_rows SET name = name, email_hidden = email_hidden');
    expect(await erasures.scrub()).toEqual({ kind: 'clean' });
  });
});

async function freshFile() {
  const { store, clock } = await fresh();
  if (store.kind !== 'sqlite') throw new Error('asked for SQLite');
  return { clock, store, mirror: store.sqlite, erasures: new SqliteErasures(store.sqlite, clock) };
}

describe('scrubbing a file', () => {
  onSqlite('a scrub also removes the bytes that secure_delete leaves in the gaps of pages', async () => {
    const { store, mirror, erasures } = await freshFile();
    const rows = Array.from({ length: 300 }, (_, n) => sqlite.seedInvestment(mirror, 1, `inv_${n}`));
    const there = new Set<number>();
    const put = mirror.raw.prepare(
      'INSERT INTO identity_rows (row_no, name, bio, message) VALUES (?, ?, ?, ?)',
    );
    const drop = mirror.raw.prepare('DELETE FROM identity_rows WHERE row_no = ?');
    // With this seed, deleted people are still in the file: pages were split and filled again.
    const random = seededRandom(7);
    const below = (bound: number) => Math.floor(random.fraction() * bound);
    for (let n = 0; n < 1_500; n++) {
      const row = rows[below(rows.length)] ?? 0;
      if (there.delete(row)) drop.run(row);
      else {
        there.add(row);
        put.run(row, `CANARY-${row}-`, 'b'.repeat(below(2_500)), `CANARY-${row}-`);
      }
    }
    const left = async () => [...peopleIn(await bytesOf(store))].filter((row) => !there.has(row)).length;
    mirror.raw.pragma('wal_checkpoint(TRUNCATE)');
    expect(await left()).toBeGreaterThan(0);
    expect(erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
    expect(await left()).toBe(0);
  });

  onSqlite('a reader blocks the scrub, and status shows it pending until it is done', async () => {
    const { store, mirror, erasures, clock } = await freshFile();
    await crowd(store);
    const reader = openSqlite(mirror.file, { readonly: true });
    reader.raw.exec('BEGIN');
    reader.raw.prepare('SELECT count(*) FROM investments').get();
    erasures.forget(usr('usr_5'));
    expect(erasures.scrub()).toMatchObject({ kind: 'blocked', erasures: 1 });
    expect((await statusOf(mirror.file, clock)).erasures).toEqual({
      pending: 1,
      since: '2026-10-20T12:00:00.000Z',
      residue: false,
    });
    reader.raw.exec('COMMIT');
    reader.close();
    expect(erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
    expect(await bytesOf(store)).not.toContain('CANARY-5-');
    expect((await statusOf(mirror.file, clock)).erasures.pending).toBe(0);
  });

  onSqlite(
    'a scrub that may wait for readers empties the log once a reader that began before it ends',
    async () => {
      const { store, mirror, erasures, clock } = await freshFile();
      await crowd(store);
      erasures.forget(usr('usr_5'));
      mirror.raw.pragma('wal_checkpoint(TRUNCATE)');
      const reader = await readUntilWritten(mirror.file);
      expect(scrub(mirror, clock, { logWaitMillis: 30_000 })).toEqual({ kind: 'scrubbed', erasures: 1 });
      expect(statSync(`${mirror.file}-wal`).size).toBeLessThan(64 * 1024);
      await reader.terminate();
    },
  );

  onSqlite(
    'another writer blocks the scrub without delaying it, and the busy timeout stays unchanged',
    async () => {
      const { store, mirror, erasures } = await freshFile();
      await crowd(store);
      mirror.raw.exec('DELETE FROM identity_rows');
      const writer = openSqlite(mirror.file);
      writer.raw.exec('BEGIN IMMEDIATE');
      // A scrub that waited would exceed the time of the test.
      mirror.raw.pragma('busy_timeout = 3600000');
      expect(erasures.scrub()).toMatchObject({ kind: 'blocked', erasures: 1 });
      writer.raw.exec('ROLLBACK');
      writer.close();
      expect(erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
      expect(mirror.raw.pragma('busy_timeout', { simple: true })).toBe(3_600_000);
    },
  );
});

/** Starts a thread that reads the mirror in one transaction, until something is written to the empty log. */
async function readUntilWritten(file: string): Promise<Worker> {
  const worker = new Worker(
    `const { statSync } = require('node:fs');
     const { parentPort, workerData: file } = require('node:worker_threads');
     const reader = new (require('better-sqlite3'))(file, { readonly: true });
     reader.exec('BEGIN');
     reader.prepare('SELECT count(*) FROM investments').get();
     parentPort.postMessage('reading');
     const turn = new Int32Array(new SharedArrayBuffer(4));
     while (statSync(file + '-wal').size === 0) Atomics.wait(turn, 0, 0, 1);
     reader.close();`,
    { eval: true, workerData: file },
  );
  await once(worker, 'message');
  return worker;
}
