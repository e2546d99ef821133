import { expect, test } from 'vitest';
import type { SourceName } from '../../../../src/domain/ids.js';
import { buildIndexes } from '../../../../src/store/dialect/sqlite/indexes.js';
import { readingOf, strayTotalsSql } from '../../../../src/store/dialect/sqlite/kept-totals.js';
import { unseenSql } from '../../../../src/store/dialect/sqlite/listing-work.js';
import type { SqliteDatabase } from '../../../../src/store/dialect/sqlite/open.js';
import { migratedDatabase, mirrorFixture } from '../../mirror-fixture.js';
import { acme, record } from '../../samples.js';
import { freshMirror, seedInvestment, seedSource } from '../../support/mirror.js';

const planOf = ({ raw }: SqliteDatabase, sql: string, ...values: unknown[]): readonly string[] =>
  (raw.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { readonly detail: string }[]).map(
    ({ detail }) => detail,
  );

/** The first source has most of the rows, and each of the others one. */
function mirrorOf(sources: number): SqliteDatabase {
  const database = freshMirror();
  for (let no = 1; no <= sources; no += 1) {
    seedSource(database, no, { rows_held: no === 1 ? 40 : 1 });
    for (let n = 0; n < (no === 1 ? 40 : 1); n += 1) seedInvestment(database, no, `inv_${no}_${n}`);
  }
  return database;
}

test('a re-listing looks for the rows that no page named among those of its source only', () => {
  const database = mirrorOf(2);
  buildIndexes(database.raw);
  expect(planOf(database, unseenSql, 2, 2)[0]).toBe(
    'SEARCH investment_rows USING COVERING INDEX investment_rows_applied (source_no=?)',
  );
});

test('the totals of a small source are computed from an index, those of a large one from the whole table', () => {
  const database = mirrorOf(2);
  expect(readingOf(database.raw, 2)).toBe('NOT INDEXED');
  buildIndexes(database.raw);
  expect([1, 2].map((no) => readingOf(database.raw, no))).toEqual([
    'NOT INDEXED',
    'INDEXED BY investment_rows_applied',
  ]);
});

test('publishing the first listing of a small source leaves its totals right and reads no other rows', async () => {
  const database = migratedDatabase();
  const large = await mirrorFixture({ database });
  await large.list([Array.from({ length: 60 }, (_, n) => record(`inv_large${n}`))]);
  const small = await mirrorFixture({ database, source: { ...acme, name: 'small' as SourceName } });
  // The triggers would compute the totals from the whole table.
  database.raw.exec('UPDATE counted_listings SET state = state');
  await small.list([[record('inv_a', { offering_id: 'ofr_1' }), record('inv_b', { investor_id: 'usr_b' })]]);
  const count = (view: string) =>
    database.raw.prepare(`SELECT sum(investments) FROM ${view} WHERE source = 'small'`).pluck().get();
  expect(['round_totals', 'daily_raised', 'investor_totals'].map(count)).toEqual([2, 2, 2]);
  expect(database.raw.prepare(strayTotalsSql).all()).toEqual([]);
  await small.delta([record('inv_c')]);
  expect(database.raw.prepare(strayTotalsSql).all()).toEqual([]);
});
