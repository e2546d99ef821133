import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isFault } from '../../../../src/domain/fault.js';
import type { Instant } from '../../../../src/domain/instant.js';
import { systemClock } from '../../../../src/runtime/clock.js';
import { readAsOf } from '../../../../src/store/dialect/postgres/as-of.js';
import { withoutNames } from '../../../../src/store/dialect/postgres/masked-query.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { queryPostgres } from '../../../../src/store/dialect/postgres/query.js';
import { documentedQueries } from '../../../../src/store/documented-queries.js';
import type { QueryLimits } from '../../../../src/store/reads/query.js';
import { type FreshDatabase, migratedDatabase, postgresUrl } from '../../../postgres/fresh-database.js';
import { giveToOwnRole, rolePassword } from '../../../postgres/own-role.js';
import { reusedSessions } from '../../../postgres/reused-sessions.js';
import { withClient } from '../../../postgres/run-databases.js';
import { testSeed } from '../../../support/chance.js';
import { fillWithCanaries, showsPeople } from '../../support/canaries.js';
import { postgresMirror } from '../../support/databases.js';

/** A time after the first listing of the mirror. */
const then = '2026-10-10T00:00:00.000Z' as Instant;

interface Seen {
  readonly text: string;
  readonly refused: boolean;
}

let database: FreshDatabase;
let opened: PostgresDatabase;
/** Leads to the same database, without a new session for each statement. */
let reused: string;

beforeAll(async () => {
  database = await migratedDatabase();
  opened = await openPostgres(database.url);
  await fillWithCanaries(postgresMirror(opened, database.url));
  for (const table of ['investment_rows', 'history_rows', 'staged_rows'])
    await opened.pool.query(`UPDATE ${table} SET extra = '{"nick":"Zq7Extra"}'`);
  await opened.pool.query('ANALYZE');
  reused = await reusedSessions(database.url);
});
afterAll(async () => {
  await opened?.close();
  await database?.drop();
});

async function run(url: string, sql: string, limits: Partial<QueryLimits> = {}): Promise<Seen> {
  const all: QueryLimits = { timeoutMs: 60_000, rowsMax: null, identity: false, ...limits };
  try {
    const query = await queryPostgres(url, sql, all, systemClock, new AbortController().signal);
    const cells: unknown[] = [...query.columns];
    for await (const row of query.rows) cells.push(...row);
    return { text: cells.map(String).join('\n'), refused: false };
  } catch (error) {
    const { message, about } = error as Error & { readonly about?: { readonly hint?: string } };
    return { text: `${message}\n${about?.hint ?? ''}`, refused: isFault(error, 'usage') };
  }
}

const masked = (sql: string) => run(reused, sql);

/**
 * Returns what the server alone makes of each statement that runs as the masked role, by default of the present: its rows,
 * or its error. Each begins in a session without anything of the one before.
 */
async function boxed(statements: readonly string[], asOf: Instant | null = null): Promise<readonly string[]> {
  const limits = { rowsMax: null, rowBytesMax: 1_000_000, bytesMax: null };
  return await withClient(database.url, async (client) => {
    const seen: string[] = [];
    for (const sql of statements) {
      try {
        await client.query('BEGIN');
        const travel = async () => {
          if (asOf !== null) await readAsOf(client, asOf, sql);
        };
        const { description, ...box } = await withoutNames(client, sql, limits, travel);
        const isRun = description !== null && 'text' in box;
        seen.push(isRun ? JSON.stringify((await client.query(box.text, [...box.values])).rows) : '');
      } catch (error) {
        seen.push(String(error));
      }
      await client.query('ROLLBACK');
      await client.query('DISCARD ALL');
    }
    return seen;
  });
}

/** Statements that read names when run as the owner of the mirror, or try to. */
const tricks: readonly string[] = [
  'SELECT name, email FROM identities',
  ';SELECT name, email FROM identities',
  ';;-- harmless\n;SELECT name FROM identities',
  '/* harmless */;SELECT name FROM identities',
  '\uFEFFSELECT name FROM identities',
  'SELECT 1\0; SELECT name FROM identities',
  'SELECT 1; SELECT name FROM identities',
  'RESET ROLE; SELECT name FROM identities',
  'SELECT * FROM roster',
  'TABLE identities',
  'SELECT name FROM rosterd_identity.identity_rows',
  'SELECT name FROM public.identity_rows',
  'SELECT (SELECT name FROM identities LIMIT 1)',
  'SELECT count(*) FROM identities',
  'SELECT id FROM investments UNION ALL SELECT name FROM identities',
  'WITH people AS MATERIALIZED (SELECT * FROM identities) SELECT name FROM people',
  'SELECT body FROM quarantine',
  'SELECT * FROM quarantine',
  'SELECT body FROM webhook_inbox',
  'SELECT identity FROM staged_rows',
  'SELECT * FROM forgotten',
  // Errors that quote the offending value.
  'SELECT cast(name AS int) FROM identities',
  'EXPLAIN (ANALYZE) SELECT cast(name AS int) FROM identities',
  'EXPLAIN (ANALYZE) SELECT cast(n.name AS int) FROM (SELECT name FROM identities OFFSET 0) n',
  'EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) SELECT name FROM identities WHERE name::int > 1',
  'SELECT (SELECT name FROM identities)::date',
  // Functions that run SQL text.
  "SELECT query_to_xml('SELECT name FROM identities', true, false, '')",
  "SELECT table_to_xml('identities', true, false, '')",
  "SELECT schema_to_xml('rosterd_identity', true, false, '')",
  "SELECT database_to_xml(true, false, '')",
  "SELECT * FROM ts_stat('SELECT to_tsvector(name) FROM identities')",
  "SELECT ts_rewrite('a'::tsquery, 'SELECT name::tsquery, name::tsquery FROM identities')",
  // Statements that return to the privileges of the login role.
  'RESET ROLE',
  'SET ROLE NONE',
  'SET SESSION AUTHORIZATION DEFAULT',
  "SELECT set_config('role', 'none', true), query_to_xml('SELECT name FROM identities', true, false, '')",
  "SELECT set_config('role', session_user, false), name FROM identities",
  "SELECT set_config('session_authorization', session_user, false), query_to_xml('TABLE identities', true, false, '')",
  "SELECT query_to_xml('SELECT set_config(''ro''||''le'', ''none'', true)', true, false, ''), query_to_xml('TABLE identities', true, false, '')",
  "SELECT query_to_xml('SET ROLE NONE', true, false, ''), query_to_xml('TABLE identities', true, false, '')",
  "WITH up AS MATERIALIZED (SELECT set_config('role', 'none', true)) SELECT query_to_xml('TABLE roster', true, false, '') FROM up",
  "SELECT set_config('transaction_read_only', 'off', true), set_config('role', 'none', true)",
  "DO $$ BEGIN PERFORM set_config('role', 'none', false); END $$",
  "SELECT pg_temp.rosterd_masked('SELECT name FROM identities', 10, 1000, 1000)",
  'CREATE FUNCTION pg_temp.people() RETURNS SETOF text LANGUAGE sql AS $$ SELECT name FROM identities $$',
  'CREATE TEMP TABLE people AS SELECT * FROM identities',
  'SELECT * INTO TEMP people FROM identities',
  'COPY identities TO STDOUT',
  'DECLARE people CURSOR FOR SELECT name FROM identities',
  'PREPARE people AS SELECT name FROM identities',
  'UPDATE identity_rows SET name = name RETURNING name',
  'DELETE FROM identity_rows RETURNING name',
  'REFRESH MATERIALIZED VIEW people',
  'GRANT SELECT ON identities TO rosterd_analyst',
  // System catalogs.
  "SELECT * FROM pg_stats WHERE schemaname = 'rosterd_identity'",
  'SELECT stavalues1 FROM pg_statistic',
  "SELECT query FROM pg_stat_activity WHERE query LIKE '%Zq7%'",
  "SELECT pg_read_file('PG_VERSION')",
  "SELECT pg_read_binary_file('postgresql.conf')",
  "SELECT pg_ls_dir('.')",
  "SELECT lo_import('/etc/passwd')",
  'SELECT rolpassword FROM pg_authid',
  'SELECT $1::text',
  '',
];

/** Statements that are not refused but return nothing to this role. */
const empty = new Set([
  "SELECT * FROM pg_stats WHERE schemaname = 'rosterd_identity'",
  "SELECT query FROM pg_stat_activity WHERE query LIKE '%Zq7%'",
  "SELECT schema_to_xml('rosterd_identity', true, false, '')",
  "SELECT database_to_xml(true, false, '')",
]);

describe('with names masked', () => {
  test('there are at least 44 distinct attempts to read names', () => {
    expect(new Set(tricks).size).toBe(tricks.length);
    expect(tricks.length).toBeGreaterThanOrEqual(44);
  });

  test('without masking the attempts do return names', async () => {
    const { text } = await run(reused, 'EXPLAIN (ANALYZE) SELECT cast(name AS int) FROM identities', {
      identity: true,
    });
    expect(showsPeople(text)).toBe(true);
    const xml = "SELECT table_to_xml('identities', true, false, '')";
    expect(showsPeople((await run(reused, xml, { identity: true })).text)).toBe(true);
  });

  test.each(tricks.map((sql) => [sql]))('masked, %j returns no names', async (sql) => {
    const { text, refused } = await masked(sql);
    expect([text, showsPeople(text)]).toEqual([text, false]);
    expect([sql, text, refused || empty.has(sql)]).toEqual([sql, text, true]);
  });

  test('masked, the server alone returns no names to statements that are refused before they reach it', async () => {
    const seen = await boxed([
      ...tricks,
      "SELECT query_to_xml('SELECT id FROM investments', true, false, '')",
    ]);
    expect(seen.at(-1)).toContain('inv_1');
    const shown = tricks.map((sql, at) => [sql, seen[at]]).filter(([, text]) => showsPeople(text ?? ''));
    expect(shown).toEqual([]);
  });

  test.each([
    [
      'SELECT id, status, committed_cents, extra FROM investments',
      'id\nstatus\ncommitted_cents\nextra\ninv_1\nactive\n100\nnull',
    ],
    ['SELECT id, problem FROM quarantine', 'id\nproblem\ninv_3\nstatus is missing'],
    ['; SELECT event, state FROM webhook_inbox', 'event\nstate\ninvestment.changed\npending'],
    ['SHOW server_encoding', 'server_encoding\nUTF8'],
    [
      "SELECT 9007199254740993 AS a, NULL AS b, '' AS b, 'x,\"(\\y)' AS c, true AS d, 0.5 AS e, current_user AS f",
      'a\nb\nb\nc\nd\ne\nf\n9007199254740993\nnull\n\nx,"(\\y)\n1\n0.5\nrosterd_analyst',
    ],
    ['SELECT NULL AS n', 'n\nnull'],
    ["SELECT 'abc'::bytea AS b", 'b\nabc'],
    ['VALUES (1, 2), (3, NULL)', 'column1\ncolumn2\n1\n2\n3\nnull'],
  ])('masked, %s returns its rows, without unknown fields', async (sql, text) => {
    expect(await masked(sql)).toEqual({ text, refused: false });
  });

  test.each([
    'SELECT * FROM investments',
    'SELECT to_jsonb(i) FROM investments i',
    'SELECT i FROM public.investments i',
    "SELECT id FROM investments WHERE extra LIKE '%Zq7%'",
    'SELECT * FROM investment_history',
    'SELECT * FROM incoming',
    'SELECT before, after FROM changes',
    'SELECT * FROM analytics.investments',
    "SELECT query_to_xml('TABLE investments', true, false, '')",
  ])('masked, %s shows unknown fields as null: they may name a person', async (sql) => {
    for (const limits of [{}, { asOf: then }]) {
      const { text } = await run(reused, sql, limits);
      expect([sql, text.includes('Zq7Extra')]).toEqual([sql, false]);
    }
    if (sql.startsWith('SELECT *')) {
      const { text } = await run(reused, sql, { identity: true });
      const { rowCount } = await opened.pool.query(sql);
      expect([sql, text.includes('Zq7Extra')]).toEqual([sql, (rowCount ?? 0) > 0]);
    }
  });

  test('masked, a function that runs with the rights of its owner is refused, and other statements run', async () => {
    const own = await migratedDatabase();
    const pool = await openPostgres(own.url);
    try {
      await fillWithCanaries(postgresMirror(pool, own.url));
      await pool.pool.query(`
        CREATE FUNCTION people() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$ SELECT string_agg(name, ',') FROM identities $$;
        CREATE FUNCTION people_now(a int) RETURNS text LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER AS
          $$ BEGIN RETURN (SELECT string_agg(name, ',') FROM identities); END $$;
        GRANT USAGE ON SCHEMA public TO rosterd_analyst`);
      for (const sql of [
        'SELECT people()',
        'SELECT people_now(1)',
        'EXPLAIN SELECT people_now(1)',
        "SELECT schema_to_xml('public', true, false, '')",
        String.raw`SELECT U&"i\0064" FROM investments`,
      ]) {
        const { text, refused } = await run(own.url, sql);
        expect([sql, refused, showsPeople(text)]).toEqual([sql, true, false]);
        expect(text).toContain('runs with the rights of its owner');
      }
      expect((await run(own.url, 'SELECT id FROM investments')).text).toBe('id\ninv_1');
      expect((await run(own.url, 'SELECT id FROM investments;')).text).toBe('id\ninv_1');
      expect((await run(own.url, 'SELECT nothing FROM investments')).text).toContain(
        '"nothing" does not exist',
      );
    } finally {
      await pool.close();
      await own.drop();
    }
  });

  test('masked, EXPLAIN works for readable tables', async () => {
    const { text, refused } = await masked('EXPLAIN (ANALYZE) SELECT count(*) FROM investments');
    expect([refused, text]).toEqual([false, expect.stringMatching(/^QUERY PLAN\nAggregate/)]);
  });

  test.each(
    documentedQueries.map(({ name, sql, postgres = sql, identity }) => [name, postgres, identity] as const),
  )('masked, the documented query %s works unless it reads identity', async (_, sql, identity) => {
    const { text, refused } = await masked(sql);
    expect([refused, showsPeople(text)]).toEqual([identity, false]);
  });

  test('masked, an error does not quote the offending value', async () => {
    const { text } = await masked('SELECT status::int FROM investments');
    expect(text).toMatch(
      /^the query failed: a text cannot be converted to the type that was asked for \(SQLSTATE 22P02\)\n/,
    );
  });

  test('masked and as of a past time, no attempt returns names', async () => {
    const more = [
      'SELECT name FROM pg_temp.identities',
      'SELECT name FROM pg_temp.roster',
      'SELECT name FROM public.roster',
      "SELECT query_to_xml('TABLE pg_temp.roster', true, false, '')",
      'CREATE TEMP VIEW people AS SELECT * FROM identities',
      'CREATE OR REPLACE TEMP VIEW investments AS SELECT name FROM identities',
      'ALTER VIEW pg_temp.roster OWNER TO SESSION_USER',
    ];
    // A new session for each statement costs more than the statement: those take one in six of the tricks.
    const some = tricks.filter((_, at) => at % 6 === testSeed % 6);
    const shown: unknown[] = [];
    for (const sql of [...some, ...more]) {
      const { text, refused } = await run(reused, sql, { asOf: then });
      if (showsPeople(text) || !(refused || empty.has(sql))) shown.push([sql, text]);
    }
    expect(shown).toEqual([]);
    const all = [...tricks, ...more];
    const seen = await boxed([...all, 'SELECT id FROM investments'], then);
    expect(seen.at(-1)).toContain('inv_1');
    expect(all.map((sql, at) => [sql, seen[at]]).filter(([, text]) => showsPeople(text ?? ''))).toEqual([]);
  });

  test.each([
    ['SELECT id, status FROM investments', 'id\nstatus\ninv_1\nactive'],
    ['SELECT investments, raised_cents FROM round_totals', 'investments\nraised_cents\n1\n100'],
    ['SELECT source FROM public.sync_status', 'source\nacme'],
  ])('masked and as of a past time, %s is allowed', async (sql, text) => {
    expect(await run(reused, sql, { asOf: then })).toEqual({ text, refused: false });
  });

  test('a past time leaves no view and no function behind on the server', async () => {
    await run(database.url, 'SELECT 1', { asOf: then });
    await run(database.url, 'SELECT 1', { asOf: then, identity: true });
    const { rows } = await opened.pool.query(
      `SELECT relname FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'pg\\_temp%'
       UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE 'rosterd\\_%'`,
    );
    expect(rows).toEqual([]);
  });

  test('masked, the row limit truncates the result and the byte limits refuse it', async () => {
    const cut = await run(reused, 'SELECT generate_series(1, 5)', { rowsMax: 2 });
    expect(cut.text).toBe('generate_series\n1\n2');
    const wide = await run(reused, "SELECT repeat('x', 3000000)", { rowBytesMax: 1_048_576 });
    expect(wide.text).toMatch(/^a row of the result holds more than 1 MB/);
    const long = await run(reused, "SELECT repeat('x', 500000) FROM generate_series(1, 5)", {
      bytesMax: 2_097_152,
    });
    expect(long.text).toMatch(/^the result holds more than 2 MB/);
  });

  test('masked queries leave no function behind on the server', async () => {
    await run(database.url, 'SELECT 1');
    const { rows } = await opened.pool.query(
      "SELECT count(*)::int AS n FROM pg_proc WHERE proname = 'rosterd_masked'",
    );
    expect(rows).toEqual([{ n: 0 }]);
  });
});

describe('a server that cannot withhold names', () => {
  test('a login without the masked role is refused with the missing GRANT until it is granted', async () => {
    const own = await migratedDatabase();
    const { url, dropRole } = await giveToOwnRole(own.url);
    const login = new URL(url).username;
    const address = new URL(url);
    address.password = encodeURIComponent(rolePassword);
    try {
      const { text, refused } = await run(address.href, 'SELECT 1 AS one');
      expect(refused).toBe(true);
      expect(text).toMatch(
        /^the server cannot withhold names.*cannot take the role rosterd_analyst \(42501\)/,
      );
      expect(text).toContain(`GRANT rosterd_analyst TO ${login};`);
      await withClient(own.url, (client) => client.query(`GRANT rosterd_analyst TO ${login}`));
      expect((await run(address.href, 'SELECT 1 AS one')).text).toBe('one\n1');
    } finally {
      await own.drop();
      await dropRole(await postgresUrl());
    }
  });

  test('a masked role with privileges beyond grants.sql is refused', async () => {
    const own = await migratedDatabase();
    try {
      await withClient(own.url, (client) =>
        client.query('GRANT SELECT (email) ON identities TO rosterd_analyst'),
      );
      const { text, refused } = await run(own.url, 'SELECT 1 AS one');
      expect([refused, text]).toEqual([
        true,
        expect.stringContaining('rosterd_analyst may read public.identities'),
      ]);
    } finally {
      await own.drop();
    }
  });
});
