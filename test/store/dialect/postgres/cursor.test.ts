import { expect, onTestFinished, test } from 'vitest';
import { withCursors } from '../../../../src/store/dialect/postgres/cursor.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { freshDatabase } from '../../../postgres/fresh-database.js';

test('withCursors closes a connection that Kysely destroys and reuses one that it releases', async () => {
  const { url, drop } = await freshDatabase();
  onTestFinished(drop);
  const database = await openPostgres(url);
  onTestFinished(database.close);
  const { pool } = database;
  const lent = withCursors(database);
  const open = pool.totalCount;
  (await lent.connect()).release();
  expect(pool.totalCount).toBe(open);
  // Kysely does this after a transaction that it could not roll back.
  const release: (destroy?: boolean) => void = (await lent.connect()).release;
  release(true);
  expect(pool.totalCount).toBe(open - 1);
});
