import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { InvestmentId, UserId } from '../../src/domain/ids.js';
import { seededRandom } from '../../src/runtime/random.js';
import { SqliteErasures } from '../../src/store/dialect/sqlite/erasures.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import {
  freshMirror,
  recordDefaults,
  StandingClock,
  seedIdentity,
  seedInvestment,
  seedRow,
  seedSource,
  statusOf,
} from './support/mirror.js';

const inv = (id: string) => id as InvestmentId;
const usr = (id: string) => id as UserId;

function fresh() {
  const clock = new StandingClock();
  const mirror = freshMirror(clock);
  seedSource(mirror, 1);
  seedSource(mirror, 2);
  return { clock, mirror, erasures: new SqliteErasures(mirror, clock) };
}

/** Files of the database in which the text stands somewhere, in used pages, free pages or gaps. */
function filesHolding({ file }: SqliteDatabase, text: string): string[] {
  return ['', '-wal', '-shm'].filter(
    (suffix) => existsSync(file + suffix) && readFileSync(file + suffix).includes(text),
  );
}

describe('forgetting', () => {
  test('an investor is forgotten in every source and every working table, others stay', () => {
    const { mirror, erasures } = fresh();
    const mine = seedInvestment(mirror, 1, 'inv_a', { investor_id: 'usr_x' });
    seedIdentity(mirror, mine, { name: 'CANARY' });
    seedIdentity(mirror, seedInvestment(mirror, 2, 'inv_b', { investor_id: 'usr_x' }), { email: 'CANARY' });
    seedIdentity(mirror, seedInvestment(mirror, 1, 'inv_c', { investor_id: 'usr_y' }), { name: 'Other' });
    const staged = (id: string, investor: string) =>
      seedRow(mirror, 'staged_rows', {
        ...recordDefaults,
        ...{ source_no: 1, id, investor_id: investor, identity: '{"name":"CANARY"}' },
      });
    staged('inv_d', 'usr_x');
    staged('inv_e', 'usr_y');
    const quarantined = { source_no: 1, problem: 'p', seen_at: 'now' };
    seedRow(mirror, 'quarantine_rows', { ...quarantined, id: 'inv_d', body: 'CANARY' });
    seedRow(mirror, 'quarantine_rows', {
      ...quarantined,
      id: null,
      body: '{"investor":{"id":"usr_x","name":"CANARY"}}',
    });
    seedRow(mirror, 'quarantine_rows', { ...quarantined, id: 'inv_z', body: 'kept' });
    const event = { installation: 'i', event: 'e', received_at: 'now' };
    seedRow(mirror, 'webhook_inbox', { ...event, event_id: '1', investment: 'inv_a', body: 'CANARY' });
    seedRow(mirror, 'webhook_inbox', { ...event, event_id: '2', body: 'kept' });

    expect(erasures.forget(usr('usr_x'))).toMatchObject({ identities: 2, already: false });

    const column = (sql: string) => mirror.raw.prepare(sql).pluck().all();
    expect(column('SELECT name FROM identity_rows')).toEqual(['Other']);
    expect(column('SELECT identity FROM staged_rows ORDER BY id')).toEqual([null, '{"name":"CANARY"}']);
    expect(column('SELECT body FROM quarantine_rows ORDER BY quarantine_no')).toEqual([null, null, 'kept']);
    expect(column('SELECT body FROM webhook_inbox ORDER BY inbox_no')).toEqual([null, 'kept']);
    expect(column('SELECT count(*) FROM investments')).toEqual([3]);
    expect(mirror.raw.prepare('SELECT id, cause, invisible_at, scrubbed_at FROM erasures').all()).toEqual([
      { id: 'usr_x', cause: 'forget', invisible_at: '2026-10-20T12:00:00.000Z', scrubbed_at: null },
    ]);
  });

  test('an investment is forgotten alone, and stays so until it is lifted', () => {
    const { mirror, erasures } = fresh();
    for (const id of ['inv_a', 'inv_b']) seedIdentity(mirror, seedInvestment(mirror, 1, id), { name: id });
    expect(erasures.forget(inv('inv_a'))).toMatchObject({ identities: 1, already: false });
    expect(erasures.forget(inv('inv_a'))).toMatchObject({ identities: 0, already: true });
    expect(mirror.raw.prepare('SELECT id FROM identities').pluck().all()).toEqual(['inv_b']);
    expect(mirror.raw.prepare('SELECT id FROM forgotten').pluck().all()).toEqual(['inv_a']);
    expect(erasures.lift(inv('inv_a'))).toBe(true);
    expect(erasures.lift(inv('inv_a'))).toBe(false);
  });
});

test('an id nobody here has heard of is refused with what to do, and nothing is remembered of it', () => {
  const { mirror, erasures } = fresh();
  expect(() => erasures.forget(usr('usr_nobody'))).toThrow(/usr_nobody is neither/);
  expect(mirror.raw.prepare('SELECT count(*) FROM forgotten').pluck().get()).toBe(0);
});

describe('scrubbing', () => {
  const people = 300;
  const crowd = (mirror: SqliteDatabase) => {
    for (let n = 0; n < people; n++) {
      const row = seedInvestment(mirror, 1, `inv_${n}`, { investor_id: `usr_${n}` });
      seedIdentity(mirror, row, {
        name: `CANARY-${n}-`,
        bio: 'b'.repeat((n * 37) % 900),
        email: `CANARY-${n}-@e`,
      });
    }
  };

  test('after a scrub no byte of the forgotten stands in any file of the database', () => {
    const { mirror, erasures, clock } = fresh();
    crowd(mirror);
    expect(filesHolding(mirror, 'CANARY-7-')).not.toEqual([]);
    for (let n = 0; n < people; n += 2) erasures.forget(usr(`usr_${n}`));
    clock.advance(1_000);
    expect(erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: people / 2 });
    for (let n = 0; n < people; n += 2) expect(filesHolding(mirror, `CANARY-${n}-`)).toEqual([]);
    expect(filesHolding(mirror, 'CANARY-7-')).toEqual(['']);
    expect(mirror.raw.prepare('SELECT DISTINCT scrubbed_at FROM erasures').pluck().all()).toEqual([
      '2026-10-20T12:00:01.000Z',
    ]);
    expect(erasures.scrub()).toEqual({ kind: 'clean' });
  });

  test('bytes that secure_delete leaves in the gaps of pages go too', () => {
    const { mirror, erasures } = fresh();
    const rows = Array.from({ length: 300 }, (_, n) => seedInvestment(mirror, 1, `inv_${n}`));
    const there = new Set<number>();
    const put = mirror.raw.prepare(
      'INSERT INTO identity_rows (row_no, name, bio, message) VALUES (?, ?, ?, ?)',
    );
    const drop = mirror.raw.prepare('DELETE FROM identity_rows WHERE row_no = ?');
    // A seed after which deleted people do stand in the file: pages were split and filled up again.
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
    const left = () =>
      rows.filter((row) => !there.has(row) && filesHolding(mirror, `CANARY-${row}-`).length > 0).length;
    mirror.raw.pragma('wal_checkpoint(TRUNCATE)');
    expect(left()).toBeGreaterThan(0);
    expect(erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
    expect(left()).toBe(0);
  });

  test.each([
    ['a tombstone', "DELETE FROM investment_rows WHERE id = 'inv_5'"],
    ['a redacted name', 'UPDATE identity_rows SET name = NULL, email = NULL WHERE row_no = 6'],
    ['a lost scope', 'DELETE FROM identity_rows'],
  ])('%s asks for a scrub by itself', (_, sql) => {
    const { mirror, erasures } = fresh();
    crowd(mirror);
    mirror.raw.exec(sql);
    expect(erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
    expect(filesHolding(mirror, 'CANARY-5-')).toEqual([]);
    expect(mirror.raw.prepare('SELECT cause, id FROM erasures').all()).toEqual([
      { cause: 'removed', id: null },
    ]);
  });

  test('a staged or quarantined person that is dropped asks for one too', () => {
    const { mirror, erasures } = fresh();
    seedRow(mirror, 'staged_rows', {
      ...recordDefaults,
      source_no: 1,
      id: 'inv_s',
      identity: '{"name":"CANARY"}',
    });
    mirror.raw.exec('DELETE FROM staged_rows');
    expect(erasures.scrub().kind).toBe('scrubbed');
    seedRow(mirror, 'quarantine_rows', { source_no: 1, problem: 'p', body: 'CANARY', seen_at: 'now' });
    mirror.raw.exec('UPDATE quarantine_rows SET body = NULL');
    expect(erasures.scrub().kind).toBe('scrubbed');
    expect(filesHolding(mirror, 'CANARY')).toEqual([]);
  });

  test('writing a person again without a change asks for none', () => {
    const { mirror, erasures } = fresh();
    crowd(mirror);
    mirror.raw.exec('UPDATE identity_rows SET name = name, email_hidden = 1');
    expect(erasures.scrub()).toEqual({ kind: 'clean' });
  });

  test('a reader blocks it without being waited for, and it stays visible until it is done', async () => {
    const { mirror, erasures, clock } = fresh();
    crowd(mirror);
    const reader = openSqlite(mirror.file, { readonly: true });
    reader.raw.exec('BEGIN');
    reader.raw.prepare('SELECT count(*) FROM investments').get();
    erasures.forget(usr('usr_5'));
    const began = performance.now();
    expect(erasures.scrub()).toMatchObject({ kind: 'blocked', erasures: 1 });
    expect(performance.now() - began).toBeLessThan(1_000);
    expect((await statusOf(mirror.file, clock)).erasures).toEqual({
      ...{ pending: 1, since: '2026-10-20T12:00:00.000Z', residue: false },
    });
    reader.raw.exec('COMMIT');
    reader.close();
    expect(erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
    expect(filesHolding(mirror, 'CANARY-5-')).toEqual([]);
    expect((await statusOf(mirror.file, clock)).erasures.pending).toBe(0);
  });

  test('another writer blocks it without being waited for, and the busy timeout is as before', () => {
    const { mirror, erasures } = fresh();
    crowd(mirror);
    mirror.raw.exec('DELETE FROM identity_rows');
    const writer = openSqlite(mirror.file);
    writer.raw.exec('BEGIN IMMEDIATE');
    const began = performance.now();
    expect(erasures.scrub()).toMatchObject({ kind: 'blocked', erasures: 1 });
    expect(performance.now() - began).toBeLessThan(1_000);
    writer.raw.exec('ROLLBACK');
    writer.close();
    expect(erasures.scrub()).toEqual({ kind: 'scrubbed', erasures: 1 });
    expect(mirror.raw.pragma('busy_timeout', { simple: true })).toBe(2_000);
  });
});
