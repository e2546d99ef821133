import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildIndexes } from '../../../../src/store/dialect/postgres/indexes.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { readOverview } from '../../../../src/store/reads/dashboard/overview.js';
import { rosterPage } from '../../../../src/store/reads/dashboard/roster.js';
import { readMirror } from '../../../../src/store/reads/read-mirror.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';
import { plansOf } from '../../support/plans.js';

/*
 * Queries of a mirror with many versions read only the rows they return. The plans are checked on a database large
 * enough that the planner would not prefer a full scan.
 */

let database: PostgresDatabase;

beforeAll(async () => {
  const { url } = await migratedDatabase();
  database = await openPostgres(url);
  const record = `'co_1', 'ofr_' || n % 7, 'usr_' || n % 5000, 'approved', 'USD', 100, 0, 1, 0, 0, '[]', '[]', t.at`;
  const columns = `company_id, offering_id, investor_id, status, currency, raised_cents, needs_whitelisting, visible,
    investor_deactivated, via_entity, blockers, contracts, observed_at`;
  const rows = `generate_series(1, 60000) AS n,
    LATERAL (SELECT to_char(timestamp '2026-01-01' + n * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"') AS at) t`;
  await database.pool.query(`
    INSERT INTO sources (name, fingerprint, state, listed_at, listed_seq)
      SELECT 'source' || n, 'f', 'following', '2026-01-01T00:00:00.000Z', 1 FROM generate_series(1, 1000) AS n;
    INSERT INTO investment_rows (source_no, id, applied_at, ${columns})
      SELECT 1 + n % 1000, 'inv_' || n, t.at, ${record} FROM ${rows};
    INSERT INTO identity_rows (row_no, name) SELECT row_no, 'Ann' FROM investment_rows;
    INSERT INTO history_rows (source_no, id, ${columns}, valid_from, change_seq, valid_to, ended_by)
      SELECT 1 + n % 1000, 'inv_' || n % 20000, ${record}, t.at, n, t.at, 'update' FROM ${rows};
    INSERT INTO change_rows (seq, source_no, id, kind, at)
      SELECT n, 1 + n % 1000, 'inv_' || n, 'changed', t.at FROM ${rows}`);
  await buildIndexes(database);
  await database.pool.query('ANALYZE');
});

async function plan(sql: string): Promise<string> {
  const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

const then = '2026-01-05T00:00:00.000Z';

describe('the planner uses an index and no full scan for:', () => {
  test.each([
    ['one record', "SELECT * FROM investments WHERE id = 'inv_7'", 'investment_rows_id'],
    ['one record with its person', "SELECT * FROM roster WHERE id = 'inv_7'", 'identity_rows_pkey'],
    [
      'the records of an investor',
      "SELECT * FROM investments WHERE investor_id = 'usr_7'",
      'investment_rows_investor',
    ],
    [
      'the deleted investments of a company',
      "SELECT id FROM investment_history WHERE source = 'source7' AND company_id = 'co_1' AND ended_by <> 'update'",
      'history_rows_gone',
    ],
    [
      'the newest',
      'SELECT * FROM investments ORDER BY applied_at DESC NULLS LAST LIMIT 20',
      'investment_rows_newest',
    ],
    [
      'the newest of a source',
      "SELECT * FROM investments WHERE source = 'source3' ORDER BY applied_at DESC NULLS LAST LIMIT 20",
      'investment_rows_',
    ],
    [
      'every version of a record',
      "SELECT * FROM investment_history WHERE id = 'inv_7' ORDER BY valid_from DESC",
      'history_rows_record',
    ],
    [
      'recently superseded versions of a source',
      `SELECT * FROM investment_history WHERE source = 'source3' AND valid_to > '2026-01-20T00:00:00.000Z'`,
      'history_rows_validity',
    ],
    ['changes since a number', 'SELECT * FROM changes WHERE seq > 59900 ORDER BY seq', 'change_rows_pkey'],
    [
      'the newest change of a source',
      `SELECT seq FROM change_rows WHERE source_no = (SELECT no FROM sources WHERE name = 'source3')
       ORDER BY seq DESC LIMIT 1`,
      'change_rows_source',
    ],
    ['the changes of a record', "SELECT * FROM changes WHERE id = 'inv_7'", 'change_rows_record'],
    [
      'old versions to purge',
      `SELECT history_no FROM history_rows WHERE valid_to < '${then}' ORDER BY valid_to LIMIT 2000`,
      'history_rows_ended',
    ],
  ])('the planner uses an index and no full scan for %s', async (_, sql, index) => {
    const steps = await plan(sql);
    expect(steps).toContain(index);
    expect(steps).not.toMatch(/Seq Scan on (?:investment|identity|history|change)_rows/);
  });
});

test('pages of one source are read in the order of its index, and the weeks of the overview by theirs', async () => {
  const { url } = await migratedDatabase();
  const large = await openPostgres(url);
  onTestFinished(() => large.close());
  await large.pool.query(`
    INSERT INTO sources (name, fingerprint, state, listed_at, listed_seq)
      SELECT 'source' || n, 'f', 'following', '2026-01-01T00:00:00.000Z', 1 FROM generate_series(1, 4) AS n;
    INSERT INTO investment_rows (source_no, id, applied_at, status, needs_whitelisting, visible, investor_deactivated,
      via_entity, blockers, contracts, observed_at)
      SELECT CASE WHEN n > 20 THEN 1 + n % 3 ELSE 4 END, 'inv_' || n,
        to_char(timestamp '2026-01-01' + n * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"'), 'approved', 0, 1, 0, 0,
        '[]', '[]', '2026-01-01T00:00:00.000Z'
      FROM generate_series(1, 20000) AS n`);
  await buildIndexes(large);
  await large.pool.query('ANALYZE');
  const page = { order: 'applied_at', after: null, rowsMax: 50, identity: true } as const;
  for (const descending of [true, false])
    for (const filter of [{ source: 'source4' }, { source: 'source4', person: 'nobody' }]) {
      const wanted = { ...page, descending, filter };
      const steps = await readMirror({ kind: 'postgres', url, password: null }, (db) =>
        plansOf(db, (asked) => rosterPage(asked, wanted), 'postgres'),
      );
      // The first statement reads those with a time.
      expect(
        steps.find((step) => / on investment_rows r/.test(step)),
        JSON.stringify(wanted),
      ).toContain('using investment_rows_applied on');
    }
  const overview = await readMirror({ kind: 'postgres', url, password: null }, (db) =>
    plansOf(db, (asked) => readOverview(asked, Date.parse('2026-06-01T00:00:00.000Z'), 10), 'postgres'),
  );
  // The two weeks, which are after every row.
  expect(overview.filter((step) => step.includes('using investment_rows_newest on'))).toHaveLength(1);
});

test('planner statistics contain no names', async () => {
  const { rows } = await database.pool.query(
    `SELECT tablename, attname FROM pg_stats
     WHERE schemaname = 'rosterd_identity' AND (most_common_vals::text || coalesce(histogram_bounds::text, '')) LIKE '%Ann%'`,
  );
  expect(rows).toEqual([]);
});
