import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { queryPostgres } from '../../../../src/store/dialect/postgres/query.js';
import { freshDatabase } from '../../../postgres/fresh-database.js';

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
