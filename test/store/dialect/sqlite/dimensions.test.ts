import { expect, test, vi } from 'vitest';
import { collections } from '../../../../src/dimensions/collections/index.js';
import type { CollectionName, Row } from '../../../../src/dimensions/ports.js';
import type { Instant } from '../../../../src/domain/instant.js';
import { SqliteDimensions } from '../../../../src/store/dialect/sqlite/dimensions.js';
import { forgetValues } from '../../../../src/store/dialect/sqlite/purge.js';
import { mirrorFixture } from '../../mirror-fixture.js';
import { acme } from '../../samples.js';
import { freshMirror, seedRow, seedSource } from '../../support/mirror.js';

test('collections: each statement is prepared once, however many posts a listing stores', async () => {
  const { store, clock } = await mirrorFixture();
  if (store.kind !== 'sqlite') throw new Error('the mirror of this test is in SQLite');
  const dimensions = new SqliteDimensions(store.sqlite, clock);
  const collection = collections.company_updates;
  const nothing = Object.fromEntries(collection.columns.map((column) => [column, null]));
  const rows = Array.from(
    { length: 300 },
    (_, at): Row => ({ ...nothing, id: `post_${at}`, company_id: 'co_1' }),
  );
  const { attempt } = await dimensions.begin(acme.name, ['company_updates'], []);
  const prepare = vi.spyOn(store.sqlite.raw, 'prepare');
  const listing = { kind: 'complete', collection, rows, problem: null } as const;
  expect(await dimensions.apply(acme.name, attempt, [listing])).toMatchObject({ added: 300 });
  expect(prepare.mock.calls.length).toBeLessThan(30);
});

test('collections: a listing waits for the disk only if it changed something, and then dates its source', async () => {
  const { database, clock, rows } = await mirrorFixture();
  const { raw } = database;
  const dimensions = new SqliteDimensions(database, clock);
  const ends: unknown[] = [];
  const exec = raw.exec.bind(raw);
  vi.spyOn(raw, 'exec').mockImplementation((sql) => {
    if (/COMMIT|ROLLBACK/.test(sql)) ends.push([sql, raw.pragma('synchronous', { simple: true })]);
    return exec(sql);
  });
  /** Returns how the commits of a listing ended, and the date of the source. */
  const listed = async (name: CollectionName, row: Row) => {
    const collection = collections[name];
    const nothing = Object.fromEntries(collection.columns.map((column) => [column, null]));
    const { attempt } = await dimensions.begin(acme.name, [name], []);
    expect(ends.splice(0)).toEqual([['COMMIT', relaxed]]);
    const listing = { kind: 'complete', collection, rows: [{ ...nothing, ...row }], problem: null } as const;
    await dimensions.apply(acme.name, attempt, [listing]);
    const [source] = (await rows('SELECT last_committed_at AS at FROM sources')) as { at: string | null }[];
    return { ends: ends.splice(0), at: source?.at };
  };
  const [relaxed, full] = [1, 2];
  const stat: Row = { offering_id: 'ofr_1', status: 'active', investments: 1, asked_at: '2026-05-01' };
  expect(await listed('round_stats', { ...stat, committed_cents: 1, raised_cents: 1 })).toEqual({
    ...{ ends: [['COMMIT', relaxed]], at: null },
  });
  const first = await listed('companies', { id: 'co_1', reported_rounds: '[]' });
  expect(first.ends).toEqual([
    ['ROLLBACK', relaxed],
    ['COMMIT', full],
  ]);
  expect(first.at).not.toBeNull();
  expect(await listed('companies', { id: 'co_1', reported_rounds: '[]' })).toEqual({
    ...{ ends: [['COMMIT', relaxed]], at: first.at },
  });
});

test('values in changes of posts expire a slice of the feed at a time', () => {
  const mirror = freshMirror();
  seedSource(mirror, 1);
  const change = {
    source_no: 1,
    about: 'update',
    id: 'post',
    kind: 'changed',
    fields: '[]',
    old_values: '{}',
  };
  for (const [seq, day] of ['01', '01', '20'].entries())
    seedRow(mirror, 'change_rows', { seq: seq + 1, ...change, at: `2026-10-${day}T00:00:00.000Z` });
  const forget = (after: number) => forgetValues(mirror, '2026-10-10T00:00:00.000Z' as Instant, after);
  const left = () =>
    mirror.raw.prepare('SELECT seq FROM change_rows WHERE old_values IS NOT NULL ORDER BY 1').pluck().all();
  expect([forget(3), left()]).toEqual([null, [1, 2, 3]]);
  expect([forget(2), left()]).toEqual([3, [1, 2, 3]]);
  expect([forget(1), left()]).toEqual([3, [1, 3]]);
  expect([forget(0), left()]).toEqual([3, [3]]);
});
