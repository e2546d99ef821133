import { expect, test } from 'vitest';
import { inTransaction } from '../../../../src/store/dialect/postgres/transaction.js';
import { postgresUrl } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';
import { postgresStore } from '../../postgres-store.js';

test('when the server ends a session, the next statement of its transaction fails and the process keeps running', async () => {
  const database = await postgresStore();
  const url = await postgresUrl();
  const ended = inTransaction(database, async (transaction) => {
    const mine = await transaction.row<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await withClient(url, async (client) => {
      await client.query('SELECT pg_terminate_backend($1)', [mine?.pid]);
      const there = async () =>
        (await client.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [mine?.pid])).rows;
      await expect.poll(there).toEqual([]);
    });
    await transaction.run('UPDATE feed_counter SET last_seq = 99');
  });
  await expect(ended).rejects.toMatchObject({ code: 'database_busy' });
  const { rows } = await database.pool.query('SELECT last_seq FROM feed_counter');
  expect(rows).toEqual([{ last_seq: 0 }]);
});
