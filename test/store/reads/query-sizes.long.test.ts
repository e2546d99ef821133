import { describe, expect, test } from 'vitest';
import { isFault } from '../../../src/domain/fault.js';
import { systemClock } from '../../../src/runtime/clock.js';
import type { DatabaseLocation } from '../../../src/store/database-location.js';
import { type QueryLimits, runQuery } from '../../../src/store/reads/query.js';
import { databases } from '../support/databases.js';

const megabyte = 1_048_576;
const limits: QueryLimits = {
  timeoutMs: 60_000,
  rowsMax: null,
  rowBytesMax: megabyte,
  bytesMax: 4 * megabyte,
  memoryMegabytes: 150,
};

async function read(place: DatabaseLocation, sql: string, more: Partial<QueryLimits> = {}): Promise<string> {
  try {
    const query = await runQuery(
      place,
      sql,
      { ...limits, ...more },
      systemClock,
      new AbortController().signal,
    );
    let rows = 0;
    for await (const _ of query.rows) rows += 1;
    return `${rows} rows`;
  } catch (error) {
    if (!isFault(error, 'usage')) throw error;
    return error.message;
  }
}

const tooWide = 'a row of the result holds more than 1 MB';
const tooMuch = 'the result holds more than 4 MB';
const noMemory = 'the query needs more than 150 MB of memory and was ended';

/** The same queries in the SQL of each database. What is giant is larger than the memory of the process that runs a query. */
const cases = [
  {
    what: 'a giant text',
    SQLite: "SELECT printf('%.*c', 200000000, 'x')",
    PostgreSQL: "SELECT repeat('x', 10000000)",
    ends: [tooWide, noMemory],
  },
  {
    what: 'a text one byte above the row limit',
    SQLite: "SELECT printf('%.*c', 1048577, 'x')",
    PostgreSQL: "SELECT repeat('x', 1048577)",
    ends: [tooWide],
  },
  {
    what: 'bytes',
    SQLite: 'SELECT zeroblob(200000000)',
    PostgreSQL: "SELECT decode(repeat('00', 5000000), 'hex')",
    ends: [tooWide, noMemory],
  },
  {
    what: 'random bytes',
    SQLite: 'SELECT randomblob(200000000)',
    PostgreSQL: 'SELECT repeat(md5(random()::text), 300000)',
    ends: [tooWide, noMemory],
  },
  {
    what: 'a concatenation of many texts',
    SQLite:
      "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 10000) SELECT group_concat(printf('%.*c', 20000, 'x')) FROM n",
    PostgreSQL: "SELECT string_agg(repeat('x', 20000), ',') FROM generate_series(1, 500)",
    ends: [tooWide, noMemory],
  },
  {
    what: 'many columns',
    SQLite: `SELECT ${Array.from({ length: 20 }, (_, at) => `printf('%.*c', 100000, 'x') AS c${at}`).join(', ')}`,
    PostgreSQL: `SELECT ${Array.from({ length: 20 }, (_, at) => `repeat('x', 100000) AS c${at}`).join(', ')}`,
    ends: [tooWide],
  },
  {
    what: 'many rows',
    SQLite:
      "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 60) SELECT printf('%.*c', 100000, 'x') FROM n",
    PostgreSQL: "SELECT repeat('x', 100000) FROM generate_series(1, 60)",
    ends: [tooMuch],
  },
];

describe.each(databases)('$database: the size of a query result is limited', ({ database, open }) => {
  let place: DatabaseLocation;

  test.each(cases)('a query for $what fails at a size limit', async ({ SQLite, PostgreSQL, ends }) => {
    ({ place } = await open());
    const sql = database === 'SQLite' ? SQLite : PostgreSQL;
    expect(ends).toContain(await read(place, sql, { identity: true }));
  });

  // On both databases every result takes the same way then.
  test.each([cases[0], cases.at(-2), cases.at(-1)] as typeof cases)(
    'a query for $what, with names masked, fails at a size limit',
    async ({ SQLite, PostgreSQL, ends }) => {
      ({ place } = await open());
      const sql = database === 'SQLite' ? SQLite : PostgreSQL;
      expect(ends).toContain(await read(place, sql, { identity: false }));
    },
  );

  test('a query without a total limit returns a result of any size', async () => {
    ({ place } = await open());
    const many = cases.find(({ what }) => what === 'many rows');
    const sql = database === 'SQLite' ? many?.SQLite : many?.PostgreSQL;
    expect(await read(place, sql ?? '', { bytesMax: null })).toBe('60 rows');
  });

  test('a row above the limit does not grow the memory of this process', async () => {
    ({ place } = await open());
    const giant = {
      SQLite: "SELECT printf('%.*c', 200000000, 'x')",
      PostgreSQL: "SELECT repeat('x', 80000000)",
    };
    const before = process.memoryUsage.rss();
    let highest = before;
    const look = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage.rss());
    }, 5);
    try {
      expect([tooWide, noMemory]).toContain(await read(place, giant[database]));
    } finally {
      clearInterval(look);
    }
    expect((highest - before) / megabyte).toBeLessThan(100);
  });
});
