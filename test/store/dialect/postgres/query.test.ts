import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { queryPostgres } from '../../../../src/store/dialect/postgres/query.js';
import { freshDatabase, migratedDatabase } from '../../../postgres/fresh-database.js';

test.each(['SELECT * FROM endless', 'TABLE endless', '  table endless', 'VALUES (1), (1), (1), (1)'])(
  '%s is fetched in batches, whatever keyword it begins with, and truncated at the row limit',
  async (sql) => {
    const { url } = await freshDatabase();
    const database = await openPostgres(url);
    try {
      // The rows after the first ones take an hour, so a result that is not streamed would arrive too late.
      await database.pool.query(
        `CREATE VIEW endless AS SELECT 1 AS i FROM (SELECT generate_series(1, 1000) AS n) AS x
         WHERE n < 600 OR pg_sleep(3600) IS NOT NULL`,
      );
      const limits = { timeoutMs: 60_000, rowsMax: 3 };
      const query = await queryPostgres(url, sql, limits, systemClock, new AbortController().signal);
      const rows: unknown[] = [];
      for await (const row of query.rows) rows.push(row);
      expect(rows).toEqual([[1], [1], [1]]);
      expect(query.truncated()).toBe(true);
    } finally {
      await database.close();
    }
  },
);

test('a statement that calls set_config keeps its time limits', async () => {
  const { url } = await migratedDatabase();
  const names = ['statement_timeout', 'client_connection_check_interval'];
  const sql = `SELECT ${names
    .map((name) => `CASE n WHEN 1 THEN set_config('${name}', '0', false) ELSE current_setting('${name}') END`)
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

test('a statement that ends other sessions is refused, for analysts also where its plan does not show it', async () => {
  const { url } = await migratedDatabase();
  const other = await openPostgres(url);
  const client = await other.pool.connect();
  const run = async (sql: string, audit: boolean) => {
    const limits = { timeoutMs: 20_000, rowsMax: null, audit };
    const query = await queryPostgres(url, sql, limits, systemClock, new AbortController().signal);
    for await (const _row of query.rows);
  };
  try {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const call = `pg_terminate_backend(${rows[0]?.pid})`;
    for (const [audit, ...statements] of [
      [true, `SELECT ${call}`, `SELECT ${call.replace('terminate', 'cancel')}`],
      [false, `SELECT ${call}`, `VALUES (true), (${call})`, `SELECT 1 LIMIT ${call}::int`],
    ] as const)
      for (const sql of statements)
        await expect(run(sql, audit), sql).rejects.toThrow('could end what another session');
    expect((await client.query('SELECT 1 AS alive')).rows).toEqual([{ alive: 1 }]);
  } finally {
    client.release();
    await other.close();
  }
});

const audited = "query_to_xml('SELECT actor FROM audit' || '_log', true, true, '')";

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
  const { url } = await migratedDatabase();
  const database = await openPostgres(url);
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
      await expect(read(sql), sql).rejects.toThrow('which is not part of PostgreSQL');
      await expect(read(sql), sql).rejects.not.toThrow('Zq7Actor');
    }
    for (const sql of [
      "SELECT query_to_xml('SELECT * FROM audit' || '_log', true, true, '')",
      String.raw`SELECT U&"table_to\005fxml"('audit_log', true, true, '')`,
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
    expect(await read('SELECT count(*) FROM information_schema.tables WHERE false')).toEqual([[0]]);
    expect(await read("SELECT name, extra->>'a' FROM (SELECT 'x' AS name, '{}'::json AS extra) t")).toEqual([
      ['x', null],
    ]);
    await expect(read('SELECT 1; SELECT 2')).rejects.toThrow('one statement at a time');
    await expect(read('DELETE FROM sources')).rejects.toThrow('only statements that read');
    await expect(read('WITH gone AS (DELETE FROM sources RETURNING 1) SELECT * FROM gone')).rejects.toThrow(
      'only statements that read',
    );
    await expect(read('SELECT 1 /*')).rejects.toThrow('not valid');
    await expect(read('SELECT 1) AND EXISTS (SELECT 2')).rejects.toThrow('not valid');
    await expect(read('SELECT $1')).rejects.toThrow('parameters');
    expect((await read('EXPLAIN SELECT 1')).length).toBe(1);
    expect((await read('SHOW server_version')).length).toBe(1);
  } finally {
    await database.close();
  }
});
