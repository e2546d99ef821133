import type pg from 'pg';
import { withClient } from '../../postgres/run-databases.js';
import { daysAgo, numberOf, spreadDays, timeOf, type VersionPlan, versionSql } from './planned-versions.js';

/*
 * What `write-versions.ts` does, in a mirror on PostgreSQL that was listed there and not copied from a SQLite file. All of it
 * is one transaction, so a run that is ended finds the mirror as it was listed.
 */

/** Writes `each` versions of every record of the mirror in this database. Call it once, after the first listing. */
export async function writeVersionsInPostgres(url: string, each: number): Promise<void> {
  if (each === 0) return;
  await withClient(url, async (client) => {
    // A scan that begins in the middle would write the rows in another order.
    await client.query(`SET maintenance_work_mem = '1GB'; SET synchronize_seqscans = off`);
    await client.query('BEGIN');
    await write(client, each);
    await client.query('COMMIT');
    // Autovacuum would have done it while ticks wrote.
    await client.query('VACUUM (ANALYZE) investment_rows, history_rows, change_rows');
  });
}

async function write(client: pg.Client, each: number): Promise<void> {
  const { rows: indexes } = await client.query<{ readonly name: string; readonly sql: string }>(
    `SELECT c.relname AS name, pg_get_indexdef(c.oid) AS sql
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE i.indrelid IN ('investment_rows'::regclass, 'history_rows'::regclass, 'change_rows'::regclass)
       AND NOT i.indisprimary`,
  );
  const { rows: columns } = await client.query<{ readonly name: string }>(
    `SELECT attname AS name FROM pg_attribute
     WHERE attrelid = 'investment_rows'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
  );
  // The first listing was long ago: versions may not end in the future.
  await client.query('UPDATE sources SET listed_at = $1 WHERE listed_at IS NOT NULL', [
    daysAgo(spreadDays + 1),
  ]);
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`);
  // Row numbers of a listing that repeated a page have holes, and change numbers may have none.
  await client.query(
    'CREATE TEMP TABLE listed ON COMMIT DROP AS SELECT row_number() OVER (ORDER BY row_no) AS n, * FROM investment_rows',
  );
  await client.query('ANALYZE listed (n, source_no)');
  const { rows: known } = await client.query<{ readonly last: string; readonly rows: string }>(
    'SELECT (SELECT last_seq FROM feed_counter) AS last, (SELECT count(*) FROM listed) AS rows',
  );
  const rows = Number(known[0]?.rows);
  const last = Number(known[0]?.last);
  const plan: VersionPlan = { last, rows, each, begun: daysAgo(spreadDays), row: 'n', later };
  for (let version = 1; version <= each; version += 1)
    await client.query(versionSql(version, plan, 'listed', ''));
  // Updated rows would leave their old bytes, which ticks of a year would have used again.
  const now: Readonly<Record<string, string>> = {
    valid_from: timeOf(each, plan),
    change_seq: numberOf(each, plan),
    reason: "'changed'",
  };
  const names = columns.map(({ name }) => name);
  await client.query(
    `TRUNCATE investment_rows;
     INSERT INTO investment_rows (${names.join(', ')}) SELECT ${names.map((name) => now[name] ?? name).join(', ')} FROM listed;
     UPDATE feed_counter SET last_seq = ${last + each * rows}`,
  );
  for (const { sql } of indexes) await client.query(sql);
}

const later = (begun: string, seconds: string) =>
  `to_char((timestamptz '${begun}' + make_interval(secs => ${seconds}::float8)) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
