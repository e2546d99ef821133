import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { buildIndexes } from '../../../../src/store/dialect/postgres/indexes.js';
import { migratePostgres } from '../../../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { shippedMigrations } from '../../../../src/store/migrate.js';
import { freshDatabase } from '../../../postgres/fresh-database.js';

/** Indexes as the first schemas built them, under today's names. */
const older = `
  CREATE INDEX investment_rows_newest ON investment_rows (applied_at);
  CREATE INDEX investment_rows_day ON investment_rows
    (source_no, company_id, substr(applied_at, 1, 10), currency) INCLUDE (raised_cents, committed_cents)`;

const options = { clock: systemClock, version: '0.1.0' };

/** Returns the definition of every index on investment_rows after a complete listing. */
async function indexesOf(before: string | null): Promise<readonly string[]> {
  const database = await openPostgres((await freshDatabase()).url);
  onTestFinished(() => database.close());
  const migrations = shippedMigrations('postgres').filter(({ number }) => number < 6);
  await migratePostgres(database, { ...options, migrations });
  if (before !== null) await database.pool.query(before);
  await migratePostgres(database, options);
  if (before === null) {
    const built = await database.pool.query("SELECT to_regclass('investment_rows_newest') AS newest");
    expect(built.rows, 'no index before a listing').toEqual([{ newest: null }]);
  }
  await buildIndexes(database);
  const { rows } = await database.pool.query<{ indexdef: string }>(
    "SELECT indexdef FROM pg_indexes WHERE tablename = 'investment_rows' ORDER BY indexname",
  );
  return rows.map(({ indexdef }) => indexdef);
}

test('a mirror listed under an older schema has the same indexes as one listed today', async () => {
  const today = await indexesOf(null);
  expect(today.join('\n')).toContain('applied_at DESC NULLS LAST');
  expect(await indexesOf(older)).toEqual(today);
});
