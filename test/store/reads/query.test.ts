import { closeSync, openSync, writeSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isFault } from '../../../src/domain/fault.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { prepareMasked, prepareWithoutAudit } from '../../../src/store/dialect/sqlite/judge-program.js';
import { openSqlite } from '../../../src/store/dialect/sqlite/open.js';
import { lacksParameters, prepareReading } from '../../../src/store/dialect/sqlite/reading-statement.js';
import { type QueryLimits, runQuery } from '../../../src/store/reads/query.js';
import { statementText } from '../../../src/store/statement-text.js';
import { freshMirror, seedInvestment, seedSource } from '../support/mirror.js';

const limits: QueryLimits = { timeoutMs: 300_000, rowsMax: null };
const idle = new AbortController().signal;

async function read(file: string, sql: string, options: Partial<QueryLimits> = {}, signal = idle) {
  const query = await runQuery({ kind: 'sqlite', file }, sql, { ...limits, ...options }, systemClock, signal);
  const rows: unknown[] = [];
  for await (const row of query.rows) rows.push(row);
  return { columns: query.columns, rows, truncated: query.truncated() };
}

const fault = (code: Parameters<typeof isFault>[1], text: RegExp) =>
  expect.toSatisfy((error: unknown) => isFault(error, code) && text.test(error.message));

describe('a user query', () => {
  test('a user query returns columns in order, including duplicate names, and exact integers', async () => {
    const { file } = freshMirror();
    expect(
      await read(
        file,
        "SELECT 9007199254740993 AS big, 7 AS b, 'x' AS b, x'00ff' AS blob, NULL AS n, 0.5 AS half",
      ),
    ).toEqual({
      columns: ['big', 'b', 'b', 'blob', 'n', 'half'],
      rows: [[9007199254740993n, 7, 'x', expect.any(Uint8Array), null, 0.5]],
      truncated: false,
    });
  });

  test('a user query streams more rows than fit into one batch', async () => {
    const { file } = freshMirror();
    const sql =
      'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2001) SELECT i FROM n';
    const { rows } = await read(file, sql);
    expect(rows).toHaveLength(2001);
    expect(rows.at(-1)).toEqual([2001]);
  });

  test('a user query is truncated at the row limit and reports it only if rows were dropped', async () => {
    const { file } = freshMirror();
    expect(await read(file, 'VALUES (1), (2), (3)', { rowsMax: 2 })).toMatchObject({
      rows: [[1], [2]],
      truncated: true,
    });
    expect(await read(file, 'VALUES (1), (2)', { rowsMax: 2 })).toMatchObject({ truncated: false });
  });

  test('an invalid statement fails with the message of the database', async () => {
    const { file } = freshMirror();
    await expect(read(file, 'SELECT 1 FROM nowhere')).rejects.toEqual(
      fault('usage', /no such table: nowhere/),
    );
  });

  test('a sum beyond 64 bits fails with the function that adds up more', async () => {
    const { file } = freshMirror();
    const sql = 'SELECT sum(column1) FROM (VALUES (9223372036854775807), (1))';
    await expect(read(file, sql)).rejects.toMatchObject({
      code: 'usage',
      message: 'the query failed: integer overflow',
      about: { hint: expect.stringContaining('total()') },
    });
  });

  test('a valid statement that fails on a value says to change it', async () => {
    const { file } = freshMirror();
    await expect(read(file, "SELECT json(id) FROM (SELECT 'inv_1' AS id)")).rejects.toMatchObject({
      code: 'usage',
      message: 'the query failed: malformed JSON',
      about: { hint: expect.stringMatching(/^Change the statement/) },
    });
  });

  test('a query that meets a damaged page reports the file as damaged, not the statement as wrong', async () => {
    const { raw, file } = freshMirror();
    const page = raw.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'change_rows'").pluck().get();
    raw.close();
    const damaged = openSync(file, 'r+');
    writeSync(damaged, Buffer.alloc(4_096, 0xff), 0, 4_096, (Number(page) - 1) * 4_096);
    closeSync(damaged);
    await expect(read(file, 'SELECT * FROM changes')).rejects.toEqual(
      fault('database_unusable', /mirror\.db is damaged .*SQLITE_CORRUPT/),
    );
    expect((await read(file, 'SELECT count(*) FROM ticks')).rows).toEqual([[0]]);
  });

  test('a statement with parameters is refused as such', async () => {
    const { file } = freshMirror();
    await expect(read(file, 'SELECT ?')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('it has parameters'),
      about: { hint: 'Write the values into the statement.' },
    });
  });

  test.each([
    [':name', 'SELECT :source'],
    ['@name', 'SELECT 1 WHERE 1 = @a AND 2 = ?'],
  ])('a statement with parameters is known by the error of its first use: %s', (_, sql) => {
    const reader = openSqlite(freshMirror().file, { readonly: true });
    try {
      const statement = prepareReading(reader.raw, sql);
      expect(() => statement.all()).toThrow(expect.toSatisfy(lacksParameters));
    } finally {
      reader.close();
    }
  });

  test.each([
    ['without the audit log', 'SELECT ?', prepareWithoutAudit],
    ['while names are masked', 'SELECT :source', prepareMasked],
  ])('a statement with parameters is refused as such %s', (_, sql, prepare) => {
    const reader = openSqlite(freshMirror().file, { readonly: true });
    try {
      expect(() => prepare(reader.raw, sql)).toThrow(fault('usage', /it has parameters/));
    } finally {
      reader.close();
    }
  });

  test('a statement that never yields is interrupted at the time limit', async () => {
    const { file } = freshMirror();
    const sql = 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
    await expect(read(file, sql, { timeoutMs: 700 })).rejects.toEqual(fault('usage', /longer than 700 ms/));
  });

  test('a signal stops a user query while it streams', async () => {
    const { file } = freshMirror();
    const stop = new AbortController();
    const sql = 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n';
    const query = await runQuery({ kind: 'sqlite', file }, sql, limits, systemClock, stop.signal);
    let seen = 0;
    const reading = (async () => {
      for await (const _ of query.rows) if (++seen === 600) stop.abort();
    })();
    await expect(reading).rejects.toEqual(fault('stopped', /stopped before its end/));
    expect(seen).toBeLessThan(3_000);
  });

  test('abandoning the rows early ends the query process', async () => {
    const { file } = freshMirror();
    const sql = 'WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n';
    const query = await runQuery({ kind: 'sqlite', file }, sql, limits, systemClock, idle);
    for await (const row of query.rows) {
      expect(row).toEqual([1]);
      break;
    }
    const rest: unknown[] = [];
    for await (const row of query.rows) rest.push(row);
    expect(rest).toEqual([]);
  });

  test('a user query sees committed data while a writer is busy', async () => {
    const mirror = freshMirror();
    seedSource(mirror, 1);
    mirror.raw.exec('BEGIN IMMEDIATE');
    seedInvestment(mirror, 1, 'inv_a');
    expect((await read(mirror.file, 'SELECT count(*) FROM investments')).rows).toEqual([[0]]);
    mirror.raw.exec('COMMIT');
    expect((await read(mirror.file, 'SELECT count(*) FROM investments')).rows).toEqual([[1]]);
  });
});

describe('a user query must be a single read-only statement', () => {
  const taking = (sql: string) => {
    const mirror = freshMirror();
    const reader = openSqlite(mirror.file, { readonly: true });
    try {
      return prepareReading(reader.raw, sql).columns().length;
    } finally {
      reader.close();
    }
  };

  test.each([
    'DELETE FROM sources',
    'DELETE FROM investments',
    "INSERT INTO forgotten VALUES ('a', 'b')",
    'INSERT INTO forgotten SELECT name, name FROM sources RETURNING id',
    'DROP VIEW investments',
    '-- a view\n/* DROP VIEW */ DROP TABLE investments',
    'create index i on changes (seq)',
    'INSERT INTO sources VALUES (1)',
    'WITH x AS (SELECT 1) INSERT INTO changes SELECT * FROM x',
    "ATTACH '/tmp/other.db' AS other",
    "VACUUM INTO '/tmp/rosterd-never-written.db'",
    'PRAGMA user_version = 9',
    'PRAGMA journal_mode = DELETE',
    'BEGIN IMMEDIATE',
    "WITH x AS (SELECT 1) UPDATE sources SET name = 'y'",
  ])('a statement that writes is refused: %s', (sql) => {
    expect(() => taking(sql)).toThrow(fault('usage', /only statements that read/));
  });

  test.each(['SELECT 1; DELETE FROM sources', 'SELECT 1; SELECT 2', '  -- nothing', ''])(
    'a text without exactly one statement is refused: "%s"',
    (sql) => {
      expect(() => taking(sql)).toThrow(fault('usage', /one statement/));
    },
  );

  test.each(['', ' \n', ';', '-- nothing', '/* nothing */;', '\uFEFF'])(
    'a text without a statement is refused in the same words by both databases: %j',
    async (sql) => {
      const { file } = freshMirror();
      const says = { code: 'usage', message: 'the text has no statement' };
      await expect(read(file, sql)).rejects.toMatchObject(says);
      // It is refused before the server is asked.
      const server = { kind: 'postgres', url: 'postgres://me@127.0.0.1:9/none', password: null } as const;
      await expect(runQuery(server, sql, limits, systemClock, idle)).rejects.toMatchObject(says);
    },
  );

  test.each([
    'SELECT 1',
    'VALUES (1)',
    'WITH x(a) AS (SELECT 1) SELECT a FROM x',
    'PRAGMA table_info(sources)',
  ])('a read-only statement is accepted: %s', (sql) => {
    expect(taking(sql)).toBeGreaterThan(0);
  });
});

test('a comment on SQLite ends at its first end, whatever it contains', async () => {
  const { file } = freshMirror();
  const reader = openSqlite(file, { readonly: true });
  for (const lead of ['/* a /* b */', '/*/ a /*/', '/* a **/ -- /*\n;'])
    expect(prepareReading(reader.raw, statementText(`${lead}SELECT 1`, 'flat')).all()).toEqual([[1n]]);
  reader.close();
  await expect(read(file, '/* a /* b */ c */ SELECT 1')).rejects.toEqual(fault('usage', /near "c"/));
});
