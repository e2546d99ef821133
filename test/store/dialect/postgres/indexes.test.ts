import { expect, onTestFinished, test } from 'vitest';
import { buildIndexes } from '../../../../src/store/dialect/postgres/indexes.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { shippedIndexes } from '../../../../src/store/migrate.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';

const names = shippedIndexes('postgres')
  .map(({ name }) => name)
  .sort();

async function hosts(): Promise<readonly [PostgresDatabase, PostgresDatabase]> {
  const { url, drop } = await migratedDatabase();
  const [one, other] = [await openPostgres(url), await openPostgres(url)];
  onTestFinished(async () => {
    await Promise.all([one.close(), other.close()]);
    await drop();
  });
  return [one, other];
}

async function built({ pool }: PostgresDatabase): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE i.indrelid = 'investment_rows'::regclass AND i.indisvalid AND NOT i.indisprimary ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

test('when two hosts build the indexes at the same time, all of them exist afterwards', async () => {
  const [one, other] = await hosts();
  // Enough rows that the build takes a while.
  await one.pool.query(
    `INSERT INTO investment_rows (source_no, id, status, needs_whitelisting, visible, investor_deactivated, via_entity,
                                  blockers, contracts, observed_at)
     SELECT 1, 'inv_' || n, 'active', 0, 1, 0, 0, '[]', '[]', '2026-01-01' FROM generate_series(1, 5000) AS n`,
  );
  await Promise.all([buildIndexes(one), buildIndexes(other)]);
  expect(await built(one)).toEqual(names);
});

test('an index that fails to build does not undo the others, and the next call builds it', async () => {
  const [one] = await hosts();
  await one.pool.query('ALTER TABLE investment_rows RENAME COLUMN offering_id TO away');
  await expect(buildIndexes(one)).rejects.toMatchObject({ code: 'database_unusable' });
  expect(await built(one)).toEqual(names.filter((name) => name !== 'investment_rows_round'));
  await one.pool.query('ALTER TABLE investment_rows RENAME COLUMN away TO offering_id');
  await buildIndexes(one);
  expect(await built(one)).toEqual(names);
});
