import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { openPostgres, type PostgresDatabase } from '../../src/store/dialect/postgres/open.js';
import { freshDatabase } from '../postgres/fresh-database.js';

/** Migrated databases of this file that no test is using. Emptying one is faster than creating one. */
const idle: PostgresDatabase[] = [];

/** Returns a migrated database without rows. It is reused when the test has finished. */
export async function postgresStore(): Promise<PostgresDatabase> {
  const database = idle.pop() ?? (await migrated());
  onTestFinished(async () => {
    await emptyPostgres(database);
    idle.push(database);
  });
  return database;
}

/** Creates a database. All databases of a run are dropped at its end, so this one is not dropped here. */
async function migrated(): Promise<PostgresDatabase> {
  const { url } = await freshDatabase();
  const database = await openPostgres(url);
  await migratePostgres(database, { clock: systemClock, version: '0.1.0' });
  return database;
}

/** Resets the database to its state right after the migration. */
export async function emptyPostgres({ pool }: PostgresDatabase): Promise<void> {
  await pool.query(`DO $$
    DECLARE found record;
    BEGIN
      FOR found IN SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
        WHERE schemaname IN ('public', 'rosterd_identity') AND tablename NOT IN ('migrations', 'feed_counter', 'data_dictionary')
      LOOP EXECUTE 'TRUNCATE ' || found.name || ' RESTART IDENTITY CASCADE'; END LOOP;
      FOR found IN SELECT indexname AS name FROM pg_indexes
        WHERE tablename = 'investment_rows' AND indexname <> 'investment_rows_pkey'
      LOOP EXECUTE 'DROP INDEX ' || found.name; END LOOP;
      UPDATE feed_counter SET last_seq = 0;
    END $$`);
}
