import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parquetFooter } from '../exports/parquet-footer.js';
import { sheetsOf } from '../exports/workbook.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import { ask, hostile, type RunningConsole, startConsole, Visitor } from './running-console.js';

let world: RunningConsole;
let visitor: Visitor;

beforeAll(async () => {
  world = await startConsole({ rows: 30 });
  visitor = new Visitor(world.port);
  await visitor.get('/sql');
});
afterAll(() => world.close());

const post = (fields: Readonly<Record<string, string>>) => visitor.post('/sql', { do: 'run', ...fields });

test('the SQL page lists the tables and columns with their descriptions, and none of the internal ones', async () => {
  const { body } = await visitor.get('/sql');
  expect(body).toContain('data-table="investments"');
  expect(body).toContain('data-insert="committed_cents"');
  expect(body).not.toMatch(/data-table="(?:identity_rows|audit_log)"/);
});

test('whole numbers in columns that end in _cents are shown as money of their row, and files keep the cents', async () => {
  const sql =
    "SELECT id, currency, raised_cents FROM investments WHERE id IN ('inv_ada', 'inv_euro') ORDER BY id";
  const { body } = await post({ sql });
  expect(body).toContain('<span title="777700 cents USD">$7,777.00</span>');
  expect(body).toContain('€500.00');
  expect(body).toContain('data-value="777700"');
  const without = await post({ sql: "SELECT 123456 AS all_cents, 'x' AS some_cents, 7 AS cents_all" });
  expect(without.body).toContain('1,234.56');
  expect(without.body).toContain('<td>x</td>');
  const large = await post({ sql: "SELECT 'usd' AS currency, 9007199254740993 AS sum_cents" });
  expect(large.body).toContain('>$90,071,992,547,409.93<');
  const file = await post({ do: 'csv', sql });
  expect(file.body).toContain('inv_ada,usd,777700');
});

test.each([
  ['none', /<section[^>]*id="plot|data-chart=/, false],
  ['auto', /data-chart="line"/, true],
  ['line', /data-chart="line"/, true],
  ['bars', /data-chart="bars"/, true],
  ['"><script>', /data-chart="line"/, true],
])('the chart of a result is the one that was chosen: %s', async (chart, pattern, drawn) => {
  const sql =
    "SELECT date(applied_at) AS day, count(*) AS investments FROM investments WHERE source = 'acme' AND applied_at IS NOT NULL GROUP BY 1";
  const { body } = await post({ sql, chart });
  expect(pattern.test(body)).toBe(drawn);
  expect(body).not.toContain('"><script>');
});

test('the legend of a chart of cents has each amount with all its digits', async () => {
  const { body } = await post({
    sql: "SELECT '2026-01' AS day, 9007199254740991 AS sum_cents UNION ALL SELECT '2026-02', 7036874417766401",
  });
  expect(body).toContain('data-words="90,071,992,547,409.91">9,007,199,254,740,991<');
  expect(body).toContain('data-words="70,368,744,177,664.01">7,036,874,417,766,401<');
});

test('averages that PostgreSQL returns as decimal text are drawn and shown as money, and files keep the text', async () => {
  const sql = `SELECT day, avg AS average, avg AS avg_cents, 'usd' AS currency FROM
    (SELECT '2026-01' AS day, '12.5000000000000000' AS avg UNION ALL SELECT '2026-02', 1300 UNION ALL SELECT '2026-03', '-0.25')`;
  const { body } = await post({ sql });
  expect(body.match(/data-chart="line"/g)).toHaveLength(2);
  expect(body).toMatch(/<td[^>]*data-value="12.5"[^>]*>12.5</);
  expect(body).toContain('<span title="12.5000000000000000 cents USD">$0.13</span>');
  const file = await post({ do: 'csv', sql });
  expect(file.body).toContain('2026-01,12.5000000000000000,12.5000000000000000,usd');
  // An id is no number, although it has only digits and a dot.
  const ids = await post({
    sql: "SELECT '2026-01' AS day, '01.50' AS id UNION ALL SELECT '2026-02', '02.50'",
  });
  expect(ids.body).not.toContain('data-chart');
});

test('a chart that cannot be drawn is explained', async () => {
  const { body } = await post({
    sql: 'SELECT status, count(*) AS n FROM investments GROUP BY 1',
    chart: 'line',
  });
  expect(body).toContain('No lines: the first column has to be');
});

test('a mistake is shown with its line, its column and the nearest name', async () => {
  const answer = await post({ sql: 'SELECT id,\n  comitted_cents\nFROM investments' });
  expect(answer.status).toBe(422);
  expect(answer.body).toContain('(line 2, column 3)');
  expect(answer.body).toContain('data-from="13" data-length="14"');
  expect(answer.body).toContain('Did you mean committed_cents?');
});

test('two downloads that are paused keep others from a query for no more than two minutes', async () => {
  const clock = new VirtualClock();
  const shared = await startConsole({ clock });
  onTestFinished(() => shared.close());
  const someone = new Visitor(shared.port);
  await someone.get('/sql');
  const fields = {
    do: 'csv',
    sql: "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) SELECT printf('%01000d', i) AS text FROM n",
  };
  const paused = async () => {
    const file = await someone.pausedFile('/sql', fields);
    expect(file.statusCode).toBe(200);
    return file;
  };
  const files = [await paused(), await paused()];
  const query = () => someone.post('/sql', { do: 'run', sql: 'SELECT 41 + 1 AS n' });
  expect((await query()).body).toContain('two queries are running already');
  const cut = files.map((file) => once(file, 'error'));
  await clock.advance(2 * 60_000);
  for (const file of files) file.resume();
  await Promise.all(cut);
  await expect.poll(async () => (await query()).body).toMatch(/data-value="42"|>42</);
});

test('a result is downloaded as JSON Lines, with a number after a repeated column name', async () => {
  const sql = "SELECT 1 AS n, NULL AS n, 'a\"b' AS t, 9007199254740993 AS big, 0.5 AS half, -9e999 AS least";
  const { headers, body } = await post({ do: 'jsonl', sql });
  expect(headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
  expect(headers['content-disposition']).toContain('query.jsonl');
  expect(body).toBe('{"n":1,"n_2":null,"t":"a\\"b","big":9007199254740993,"half":0.5,"least":"-Infinity"}\n');
});

/** Sends the form and returns the answer as bytes. */
const fileOf = (format: string, sql: string) =>
  fetch(`${world.url}/sql`, {
    method: 'POST',
    headers: {
      cookie: visitor.cookie,
      origin: world.url,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ csrf: visitor.csrf, do: format, sql }),
  });

test('a result is downloaded as Excel with money, dates and numbers, and a mixed column as text', async () => {
  const sql = `SELECT id, committed_cents, applied_at, 1.0 * committed_cents / 3 AS third, '007' AS code,
    CASE id WHEN 'inv_ada' THEN 1 ELSE 'x' END AS mixed, 9007199254740993 AS big
    FROM investments WHERE id IN ('inv_ada', 'inv_euro') ORDER BY id`;
  const answer = await fileOf('xlsx', sql);
  expect([
    answer.status,
    answer.headers.get('content-type'),
    answer.headers.get('content-disposition'),
  ]).toEqual([
    200,
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    'attachment; filename=query.xlsx',
  ]);
  const [sheet] = sheetsOf(Buffer.from(await answer.arrayBuffer()));
  const shown = await post({ do: 'jsonl', sql });
  const [ada] = shown.body.split('\n').map((line) => JSON.parse(line || '{}'));
  expect(sheet?.name).toBe('query');
  expect(sheet?.cells).toMatchObject({
    ...{ A1: 'id', B1: 'committed', C1: 'applied_at', D1: 'third', E1: 'code', F1: 'mixed', G1: 'big' },
    ...{ A2: 'inv_ada', B2: ada.committed_cents / 100, C2: ada.applied_at, D2: ada.third },
    ...{ E2: '007', F2: '1', F3: 'x', G2: '9007199254740993' },
  });
});

test('a text that is too long for a cell of Excel is reported, and no half file is sent', async () => {
  const answer = await post({ do: 'xlsx', sql: "SELECT 1 AS n, printf('%.*c', 40000, 'x') AS long" });
  expect([answer.status, answer.headers['content-disposition']]).toEqual([422, undefined]);
  expect(answer.body).toContain('long of row 1 has 40000 characters');
  expect(answer.body).toContain('CSV, JSON Lines and Parquet write it whole.');
});

test('a result is downloaded as Parquet with types that hold every value, and no file stays behind', async () => {
  const sql = `SELECT * FROM (VALUES (1, 1, 'a', NULL, 9007199254740993), (2, 0.5, 7, NULL, -1)) AS t`;
  const answer = await fileOf('parquet', sql);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'application/vnd.apache.parquet',
  ]);
  const file = join(tmpdir(), `sql-page-${world.port}.parquet`);
  writeFileSync(file, new Uint8Array(await answer.arrayBuffer()));
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  try {
    const types = await connection.runAndReadAll(`DESCRIBE SELECT * FROM '${file}'`);
    expect(types.getRows().map(([name, type]) => `${name} ${type}`)).toEqual([
      'column1 BIGINT',
      'column2 DOUBLE',
      'column3 VARCHAR',
      'column4 VARCHAR',
      'column5 BIGINT',
    ]);
    const rows = await connection.runAndReadAll(`SELECT * FROM '${file}'`);
    expect(rows.getRows()).toEqual([
      [1n, 1, 'a', null, 9007199254740993n],
      [2n, 0.5, '7', null, -1n],
    ]);
  } finally {
    connection.closeSync();
    instance.closeSync();
    rmSync(file);
  }
});

test('a result whose columns have no name, or names that differ in a quote, is downloaded as Parquet', async () => {
  const answer = await fileOf('parquet', `SELECT 1 AS "", 2 AS "a""b", 3 AS "A'b", 4 AS "column"`);
  expect(answer.status).toBe(200);
  const file = join(tmpdir(), `sql-page-names-${world.port}.parquet`);
  writeFileSync(file, new Uint8Array(await answer.arrayBuffer()));
  try {
    expect(parquetFooter(file).columns.map(({ name }) => name)).toEqual([
      'column',
      "a'b",
      "A'b_2",
      'column_2',
    ]);
  } finally {
    rmSync(file);
  }
});

test.each(['csv', 'jsonl', 'parquet', 'xlsx'])(
  'an invalid statement is no %s file but a page that says why',
  async (format) => {
    const answer = await post({ do: format, sql: 'SELECT nonsense FROM investments' });
    expect([answer.status, answer.headers['content-disposition']]).toEqual([422, undefined]);
    expect(answer.body).toContain('no such column: nonsense');
  },
);

test('a statement and a result with markup are shown as text', async () => {
  const sql = `SELECT '${hostile.replaceAll("'", "''")}' AS "${hostile.replaceAll('"', '""')}"`;
  const { body } = await post({ sql, chart: hostile });
  expect(body).not.toContain('<script>window.pwned');
  expect(body).not.toContain('<img src=x');
});

test('the page never runs a statement of its address', async () => {
  const { body } = await visitor.get("/sql?sql=SELECT+'ran'&do=run&query=nonsense");
  expect(body).not.toContain('id="result"');
  expect((await ask(world.port, '/sql?sql=SELECT+1', { method: 'POST' })).status).toBe(403);
});
