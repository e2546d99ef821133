import { buildIndexes } from '../../../../src/store/dialect/postgres/indexes.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';

/** Rows per table. Half of them belong to `acme`, the rest to twenty other sources. */
export const counts = { held: 20_000, versions: 100_000, changes: 100_000 } as const;

const at = (minutes: string) =>
  `to_char(timestamp '2026-01-01' + ${minutes} * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"')`;

const source = 'CASE WHEN n % 2 = 0 THEN 1 ELSE 2 + (n / 2) % 20 END';

/** Rows as wide as real records: a scan of narrow rows would cost no more than an index. */
const record = {
  company_id: "'co_1'",
  offering_id: "'ofr_' || n % 7",
  investor_id: "'usr_' || n % 5000",
  status: "CASE WHEN n % 5 = 0 THEN 'active' ELSE 'executed' END",
  currency: "'USD'",
  committed_cents: '100 + n % 977',
  raised_cents: 'n % 977',
  in_escrow_cents: 'CASE WHEN n % 50 = 0 THEN 5 ELSE 0 END',
  needs_whitelisting: '0',
  visible: '1',
  investor_deactivated: '0',
  via_entity: '0',
  blockers: `CASE WHEN n % 40 = 0 THEN '[{"key":"needs_id"}]' ELSE '[]' END`,
  contracts: "'[\"' || repeat('c', 400) || '\"]'",
  observed_at: at('n'),
} as const;

const columns = Object.keys(record).join(', ');
const values = Object.values(record).join(', ');

/** Gathers statistics from all rows: a random sample of them changes a plan once in some fifty times. */
async function analyzeEveryRow({ pool }: PostgresDatabase) {
  const client = await pool.connect();
  try {
    // PostgreSQL reads 300 rows for each unit of this target: 150,000.
    await client.query('SET default_statistics_target = 500');
    await client.query('ANALYZE');
    await client.query('RESET default_statistics_target');
  } finally {
    client.release();
  }
}

/** Returns a mirror with the row counts of several years, for query plans. */
export async function manyVersions(): Promise<PostgresDatabase> {
  const { url } = await migratedDatabase();
  const database = await openPostgres(url);
  await database.pool.query(`
    INSERT INTO sources (name, fingerprint, state, listed_at, listed_seq)
      SELECT CASE n WHEN 1 THEN 'acme' ELSE 'source' || n END, 'f', 'following', ${at('0')}, 1
      FROM generate_series(1, 21) AS n;
    INSERT INTO investment_rows (source_no, id, applied_at, ${columns})
      SELECT ${source}, 'inv_' || n, CASE WHEN n % 1000 > 1 THEN ${at('n')} END, ${values}
      FROM generate_series(1, ${counts.held}) AS n;
    INSERT INTO identity_rows (row_no, name) SELECT row_no, 'Ann' FROM investment_rows;
    INSERT INTO history_rows (source_no, id, ${columns}, valid_from, change_seq, valid_to, ended_by)
      SELECT ${source}, 'inv_' || n % ${counts.held}, ${values}, ${at('n')}, n, ${at('(n + 9)')},
             CASE WHEN n % 100 = 0 THEN 'tombstone' ELSE 'update' END
      FROM generate_series(1, ${counts.versions}) AS n;
    INSERT INTO change_rows (seq, source_no, id, kind, at)
      SELECT n, ${source}, 'inv_' || n % ${counts.held}, 'changed', ${at('n')}
      FROM generate_series(1, ${counts.changes}) AS n`);
  await buildIndexes(database);
  // Autovacuum would do this some minutes later.
  await database.pool.query('VACUUM');
  await analyzeEveryRow(database);
  return database;
}
