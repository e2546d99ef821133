import { onTestFinished } from 'vitest';
import { openPostgres, type PostgresDatabase } from '../../src/store/dialect/postgres/open.js';
import { migratedDatabase } from '../postgres/fresh-database.js';

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

/** All databases of a run are dropped at its end, so this one is not dropped here. */
async function migrated(): Promise<PostgresDatabase> {
  const { url } = await migratedDatabase();
  return await openPostgres(url);
}

/**
 * Resets the database to its state right after the migration. Touches only tables and sequences that the test used:
 * truncating all of them takes the server a tenth of a second, most tests need a few, and a table that never had a row
 * has no bytes. Nineteen tables refer to `sources`, and TRUNCATE would give each of them new files, so the few sources of
 * most tests are deleted.
 */
export async function emptyPostgres({ pool }: PostgresDatabase): Promise<void> {
  await pool.query(`DO $$
    DECLARE
      few oid[];
      named regclass;
      used text;
      found record;
    BEGIN
      few := ARRAY(SELECT oid FROM pg_class WHERE oid IN ('sources'::regclass, 'fleet_members'::regclass)
        AND reltuples < 0 AND pg_relation_size(oid) BETWEEN 1 AND 2 * current_setting('block_size')::int);
      -- Without the triggers that look for rows which refer to these: they are truncated next.
      PERFORM set_config('session_replication_role', 'replica', true);
      FOREACH named IN ARRAY few LOOP EXECUTE 'DELETE FROM ' || named; END LOOP;
      SELECT string_agg(oid::regclass::text, ', ') INTO used FROM pg_class
        WHERE relkind = 'r' AND relnamespace IN ('public'::regnamespace, 'rosterd_identity'::regnamespace)
          AND relname NOT IN ('migrations', 'feed_counter', 'data_dictionary') AND pg_relation_size(oid) > 0
          AND oid <> ALL (few);
      IF used IS NOT NULL THEN EXECUTE 'TRUNCATE ' || used || ' RESTART IDENTITY CASCADE'; END IF;
      FOR found IN SELECT format('%I.%I', schemaname, sequencename) AS name FROM pg_sequences
        WHERE schemaname IN ('public', 'rosterd_identity') AND last_value IS NOT NULL
      LOOP EXECUTE 'ALTER SEQUENCE ' || found.name || ' RESTART'; END LOOP;
      FOR found IN SELECT indexname AS name FROM pg_indexes
        WHERE tablename = 'investment_rows' AND indexname <> 'investment_rows_pkey'
      LOOP EXECUTE 'DROP INDEX ' || found.name; END LOOP;
      UPDATE feed_counter SET last_seq = 0;
    END $$`);
}
