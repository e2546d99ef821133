import { beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { queryPostgres } from '../../../../src/store/dialect/postgres/query.js';
import { type QueryLimits, runQuery } from '../../../../src/store/reads/query.js';
import { freshDatabase, migratedDatabase, postgresUrl } from '../../../postgres/fresh-database.js';
import { giveToOwnRole, rolePassword } from '../../../postgres/own-role.js';
import { reusedSessions } from '../../../postgres/reused-sessions.js';
import { withClient } from '../../../postgres/run-databases.js';

describe('a view of rows that take an hour', () => {
  let url: string;
  beforeAll(async () => {
    ({ url } = await freshDatabase());
    // The rows after the first ones take an hour, so a result that is not streamed would arrive too late.
    const view = `CREATE VIEW endless AS SELECT 1 AS i FROM (SELECT generate_series(1, 1000) AS n) AS x
      WHERE n < 600 OR pg_sleep(3600) IS NOT NULL`;
    await withClient(url, (client) => client.query(view));
  });

  test.each(['SELECT * FROM endless', 'TABLE endless', '  table endless', 'VALUES (1), (1), (1), (1)'])(
    '%s is fetched in batches, whatever keyword it begins with, and truncated at the row limit',
    async (sql) => {
      const limits = { timeoutMs: 60_000, rowsMax: 3 };
      const query = await queryPostgres(url, sql, limits, systemClock, new AbortController().signal);
      const rows: unknown[] = [];
      for await (const row of query.rows) rows.push(row);
      expect(rows).toEqual([[1], [1], [1]]);
      expect(query.truncated()).toBe(true);
    },
  );
});

test('a statement whose own function calls set_config keeps its time limits', async () => {
  const { url } = await migratedDatabase();
  const database = await openPostgres(url);
  await database.pool.query(
    "CREATE FUNCTION unset(name text) RETURNS text LANGUAGE sql AS $$ SELECT set_config(name, '0', false) $$",
  );
  await database.close();
  const names = ['statement_timeout', 'client_connection_check_interval'];
  const sql = `SELECT ${names
    .map((name) => `CASE n WHEN 1 THEN unset('${name}') ELSE current_setting('${name}') END`)
    .join(', ')} FROM generate_series(1, 100) AS n`;
  const limits = { timeoutMs: 20_000, rowsMax: null };
  const query = await queryPostgres(url, sql, limits, systemClock, new AbortController().signal);
  const rows: unknown[] = [];
  for await (const row of query.rows) rows.push(row);
  expect([rows[0], rows[99]]).toEqual([
    ['0', '0'],
    ['20s', '1s'],
  ]);
});

/** How a statement calls a function where its plan does not show it, or under a name that is spelled in another way. */
const callings = (call: string, name: string) => [
  `SELECT ${call}`,
  `VALUES ('x'), (${call}::text)`,
  `SELECT 1 LIMIT length(${call}::text)`,
  `SELECT 1 OFFSET length(${call}::text)`,
  `SELECT * FROM (VALUES ('x'), (${call}::text)) AS v ORDER BY 1`,
  `EXPLAIN (ANALYZE) SELECT ${call}`,
  `SELECT ${call.replace(name, `PG_Catalog . "${name}" /* ( */ `)}`,
  `SELECT ${call.replace(name, `${name.toUpperCase()}--\n`)}`,
  `SELECT ${call.replace(name, `u&"${name.replace('_', String.raw`\005f`)}"`)}`,
  `SELECT ${call.replace(name, `U&"${name.replace('_', '!005f')}" UESCAPE '!'`)}`,
  `SELECT query_to_xml('SELECT ' || ${name
    .split('_')
    .map((part) => `'${part}'`)
    .join(" || '_' || ")}, true, true, '')`,
];

describe('functions that do more than read', async () => {
  const { url: direct } = await migratedDatabase();
  const url = await reusedSessions(direct);
  const run = async (sql: string, rights: Pick<QueryLimits, 'audit' | 'identity'> = {}) => {
    const limits = { timeoutMs: 20_000, rowsMax: null, ...rights };
    const query = await queryPostgres(url, sql, limits, systemClock, new AbortController().signal);
    const rows: unknown[] = [];
    for await (const row of query.rows) rows.push(row);
    return rows;
  };

  // Each query has a session of its own, so some callings stand for all where the rights are what differs.
  test.each([
    ['an operator', {}, 1],
    ['an analyst', { audit: false }, 5],
    ['a user from whom names are masked', { identity: false }, 5],
  ])(
    'a query of %s cannot end the session of another client, however it calls the function',
    async (_, rights, every) => {
      const other = await openPostgres(direct);
      const client = await other.pool.connect();
      try {
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        for (const [name, some] of [
          ['pg_terminate_backend', every],
          ['pg_cancel_backend', 4],
        ] as const)
          for (const sql of callings(`${name}(${rows[0]?.pid})`, name).filter((_, at) => at % some === 0))
            await expect(run(sql, rights), sql).rejects.toThrow('only statements that read are run here');
        expect((await client.query('SELECT 1 AS alive')).rows).toEqual([{ alive: 1 }]);
      } finally {
        client.release();
        await other.close();
      }
    },
  );

  test.each([
    'pg_reload_conf()',
    'pg_switch_wal()',
    'pg_advisory_lock(1)',
    'pg_try_advisory_xact_lock(1)',
    'lo_creat(1)',
    "lo_export(1, '/nowhere')",
    "set_config('work_mem', '1GB', true)",
    "nextval('tick_rows_tick_seq')",
    "pg_notify('a', 'b')",
    "pg_read_file('PG_VERSION')",
    "pg_logical_emit_message(false, 'a', 'b')",
    'pg_stat_reset()',
  ])('a query cannot call %s', async (call) => {
    await expect(run(`VALUES ('x'), (${call}::text)`)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/^only statements that read are run here, and \w+ can do more$/),
    });
  });

  test.each([
    "SELECT 'pg_terminate_backend', clock_timestamp(), random(), gen_random_uuid() LIMIT 1",
    'SELECT count(*) AS nextval FROM tick_rows TABLESAMPLE system (10)',
    "SELECT pg_total_relation_size('sources'), pg_is_in_recovery(), pg_sleep(0)",
    'SELECT count(*) AS "set_config" FROM pg_locks',
    String.raw`SELECT U&"t\006f" FROM (VALUES (1)) AS v("to")`,
    "SELECT table_to_xml('sources', true, true, '')",
  ])('a query may call what only returns a value: %s', async (sql) => {
    expect(await run(sql)).toHaveLength(1);
  });

  test('a login that may create nothing is answered and refused like any other', async () => {
    const own = await migratedDatabase();
    const { administrator, dropRole, url: address } = await giveToOwnRole(own.url);
    const login = new URL(address).username;
    await withClient(administrator, (client) =>
      client.query(`ALTER DATABASE "${new URL(own.url).pathname.slice(1)}" OWNER TO CURRENT_USER;
        REVOKE TEMPORARY ON DATABASE "${new URL(own.url).pathname.slice(1)}" FROM PUBLIC;
        GRANT rosterd_analyst TO ${login}`),
    );
    const reader = new URL(address);
    reader.password = encodeURIComponent(rolePassword);
    const read = (sql: string) =>
      queryPostgres(
        reader.href,
        sql,
        { timeoutMs: 20_000, rowsMax: null },
        systemClock,
        new AbortController().signal,
      );
    try {
      (await read('SELECT count(*) FROM investments')).close();
      await expect(read("VALUES ('x'), (pg_advisory_lock(1)::text)")).rejects.toThrow('pg_advisory_lock');
    } finally {
      await own.drop();
      await dropRole(await postgresUrl());
    }
  });
});

const audited = "table_to_xml(('audit' || '_log')::regclass, true, true, '')";

const reading = "BEGIN RETURN (SELECT string_agg(actor, ',') FROM audit_log); END";
const immutable = `RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ ${reading} $$`;
/** What users may have made that reads the audit log behind a function, an operator, an aggregate, a type or a cast. */
const peeking = `
  CREATE FUNCTION peek() RETURNS text LANGUAGE sql AS $$ SELECT string_agg(actor, ',') FROM audit_log $$;
  CREATE FUNCTION peek_now(a int) ${immutable};
  CREATE FUNCTION peek_two(a int, b int) ${immutable};
  CREATE FUNCTION peek_step(s text, a int) ${immutable};
  CREATE OPERATOR ==> (LEFTARG = int, RIGHTARG = int, FUNCTION = peek_two);
  CREATE AGGREGATE peeked(int) (SFUNC = peek_step, STYPE = text);
  CREATE DOMAIN peeking AS int CHECK (peek_now(value) IS NULL);
  CREATE TYPE boxed AS (a int);
  CREATE FUNCTION peek_boxed(a boxed) ${immutable};
  CREATE CAST (boxed AS text) WITH FUNCTION peek_boxed(boxed);
  CREATE VIEW quiet AS SELECT peek_now(1) AS seen;
  CREATE VIEW quiet_text AS VALUES ('x'), (${audited}::text);
  INSERT INTO audit_log (at, actor, role, action, outcome)
    VALUES ('2026', 'Zq7Actor', 'operator', 'query', 'done')`;

test('without the right to the audit log, a statement that could read it is refused, and others run', async () => {
  const { url: direct } = await migratedDatabase();
  const url = await reusedSessions(direct);
  const database = await openPostgres(direct);
  const limits = { timeoutMs: 20_000, rowsMax: null, audit: false };
  const read = async (sql: string) => {
    const query = await queryPostgres(url, sql, limits, systemClock, new AbortController().signal);
    const rows: unknown[] = [];
    for await (const row of query.rows) rows.push(row);
    return rows;
  };
  try {
    await database.pool.query('CREATE VIEW hidden AS SELECT actor FROM audit_log');
    for (const sql of [
      'SELECT actor FROM audit_log',
      'TABLE hidden',
      'SELECT 1 WHERE EXISTS (SELECT FROM operator_requests)',
      String.raw`SELECT * FROM U&"audit\005flog"`,
      'EXPLAIN (ANALYZE) SELECT CAST((SELECT string_agg(actor, $$,$$) FROM audit_log) AS integer)',
      'SELECT most_common_vals FROM pg_stats',
    ])
      await expect(read(sql), sql).rejects.toThrow('only operators may read audit_log and operator_requests');
    await database.pool.query(peeking);
    for (const sql of [
      'SELECT peek()',
      'SELECT peek_now(1)',
      'SELECT peek_now(1)::int',
      'SELECT id FROM investments WHERE peek_now(1) IS NULL',
      'SELECT 1 ==> 2',
      'SELECT peeked(1)',
      'SELECT 1::peeking',
      'SELECT ROW(1)::boxed::text',
      'SELECT seen FROM quiet',
      'EXPLAIN (ANALYZE, VERBOSE) SELECT peek_now(1)',
      'EXPLAIN SELECT peek_now(1)::int',
      'SELECT 1 AS n, peek() AS n -- twice',
      'WITH x AS (SELECT peek() AS p) SELECT p FROM x',
      'VALUES (peek())',
    ]) {
      const error: unknown = await read(sql).catch((reason: unknown) => reason);
      expect(String(error), sql).toContain('which is not part of PostgreSQL');
      expect(String(error), sql).not.toContain('Zq7Actor');
    }
    for (const sql of [
      `SELECT ${audited}`,
      // Plans show neither the rows of VALUES nor the number of a LIMIT.
      `SELECT * FROM (VALUES ('x'), (${audited}::text)) AS v(a)`,
      `VALUES ('x'), (${audited}::text)`,
      `SELECT generate_series(1, 200) LIMIT ascii(substr(${audited}::text, 2, 1))`,
      `SELECT generate_series(1, 200) OFFSET ascii(substr(${audited}::text, 2, 1))`,
      'SELECT * FROM quiet_text',
    ])
      await expect(read(sql), sql).rejects.toThrow(/cannot be checked|only operators may read/);
    await expect(read('SELECT nothing FROM sources')).rejects.toMatchObject({
      message: expect.stringContaining('"nothing" does not exist'),
      about: { place: { from: 7 } },
    });
    expect(await read('SELECT count(*) FROM roster')).toEqual([[0]]);
    expect(await read('SELECT 1 AS n, 2 AS n -- twice')).toEqual([[1, 2]]);
    const aliased = 'SELECT status AS investments_status, row_number() OVER () AS n FROM investments';
    expect(await read(`SELECT investments_status FROM (${aliased}) AS t WHERE n > 0`)).toEqual([]);
    for (const sql of [
      'SELECT 1;',
      'SELECT 1 -- one;',
      'SELECT 1 /* ; */ ;; ',
      "SELECT length(';') -- a; b\n; -- c; d",
      'EXPLAIN SELECT 1;',
    ])
      expect(await read(sql), sql).toHaveLength(1);
    for (const sql of [
      'SELECT actor FROM audit_log;',
      'SELECT 1 -- ; /*\nUNION SELECT count(*) FROM audit_log --*/',
      'SELECT 1 -- ; -- \rUNION SELECT count(*) FROM audit_log',
      'SELECT 1 /* ; /* */ -- */ UNION SELECT count(*) FROM audit_log;',
      "SELECT $a$;$a$, (SELECT actor FROM audit_log) || '; -- ';",
    ])
      await expect(read(sql), sql).rejects.toThrow('only operators may read audit_log and operator_requests');
    await expect(read('SELECT peek();')).rejects.toThrow('which is not part of PostgreSQL');
    expect(await read('SELECT count(*) FROM information_schema.tables WHERE false')).toEqual([[0]]);
    expect(await read("SELECT name, extra->>'a' FROM (SELECT 'x' AS name, '{}'::json AS extra) t")).toEqual([
      ['x', null],
    ]);
    await expect(read('SELECT 1; SELECT 2')).rejects.toThrow('one statement at a time');
    await expect(read('SELECT id FROM investments WHERE shares = (1/0)::text')).rejects.toMatchObject({
      code: 'usage',
      message: 'the query failed: division by zero',
      about: { hint: expect.stringMatching(/^Change the statement/) },
    });
    await expect(read('DELETE FROM sources')).rejects.toThrow('only statements that read');
    await expect(read('WITH gone AS (DELETE FROM sources RETURNING 1) SELECT * FROM gone')).rejects.toThrow(
      'only statements that read',
    );
    await expect(read('SELECT 1 /*')).rejects.toThrow('not valid');
    await expect(read('SELECT 1) AND EXISTS (SELECT 2')).rejects.toThrow('not valid');
    await expect(read('SELECT $1')).rejects.toThrow('parameters');
    expect((await read('EXPLAIN SELECT 1')).length).toBe(1);
    expect((await read('EXPLAIN (costs off, Format JSON) (SELECT 1)')).length).toBe(1);
    expect((await read(`EXPLAIN (Costs "off", /* one */ FORMAT 'json') SELECT 1`)).length).toBe(1);
    expect(
      (
        await read(
          'EXPLAIN /** 2*3/4 **/ (COSTS off, /* https://x.example/a */ TIMING off, ANALYZE) SELECT 1',
        )
      ).length,
    ).toBeGreaterThan(1);
    expect((await read('EXPLAIN ANALYZE (VALUES (1))')).length).toBeGreaterThan(1);
    for (const sql of [
      'EXPLAIN (SELECT actor FROM audit_log)',
      'EXPLAIN ANALYZE (TABLE audit_log)',
      'EXPLAIN (/* one */ SELECT actor FROM audit_log)',
      'EXPLAIN (/* ** */ SELECT actor FROM audit_log)',
      'EXPLAIN /*/ ) */ (SELECT actor FROM audit_log)',
      'EXPLAIN (--one\rSELECT actor FROM audit_log\n)',
    ])
      await expect(read(sql), sql).rejects.toThrow('only operators may read audit_log and operator_requests');
    expect((await read('SHOW server_version')).length).toBe(1);
  } finally {
    await database.close();
  }
});

test('comments within comments may precede a statement, and an error is placed in the whole text', async () => {
  const url = await reusedSessions((await migratedDatabase()).url);
  const location = { kind: 'postgres', url, password: null } as const;
  const run = async (sql: string, identity: boolean) => {
    const limits = { timeoutMs: 20_000, rowsMax: null, identity };
    const query = await runQuery(location, sql, limits, systemClock, new AbortController().signal);
    const rows: unknown[] = [];
    for await (const row of query.rows) rows.push(row);
    return rows;
  };
  const leads = ['/* a /* b */ c */ ', '/*/**/*/;/*/ /* */ */-- /*\n', '/* a **/'];
  for (const identity of [true, false])
    for (const lead of identity ? leads : leads.slice(1, 2)) {
      expect(await run(`${lead}SELECT 1`, identity)).toEqual([[1]]);
      const place = { from: lead.length + 'SELECT '.length };
      await expect(run(`${lead}SELECT nothing`, identity)).rejects.toMatchObject({ about: { place } });
      await expect(run(`${lead}DELETE FROM sources`, identity)).rejects.toThrow(/only/);
    }
  await expect(run('/* a /* b */ SELECT 1', true)).rejects.toThrow(/comment/);
});
