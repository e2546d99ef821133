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
  120_000,
);

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
    for (const sql of [
      "SELECT query_to_xml('SELECT * FROM audit' || '_log', true, true, '')",
      String.raw`SELECT U&"table_to\005fxml"('audit_log', true, true, '')`,
    ])
      await expect(read(sql), sql).rejects.toThrow('cannot be checked');
    await expect(read('SELECT nothing FROM sources')).rejects.toMatchObject({
      message: expect.stringContaining('"nothing" does not exist'),
      about: { place: { from: 7 } },
    });
    expect(await read('SELECT count(*) FROM roster')).toEqual([[0]]);
    expect((await read('EXPLAIN SELECT 1')).length).toBe(1);
    expect((await read('SHOW server_version')).length).toBe(1);
  } finally {
    await database.close();
  }
}, 60_000);
