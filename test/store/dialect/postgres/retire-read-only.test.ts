import { expect, onTestFinished, test } from 'vitest';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { OwnConnection } from '../../../../src/store/dialect/postgres/own-connection.js';
import { reachPostgres } from '../../../../src/store/dialect/postgres/reach.js';
import { inTransaction } from '../../../../src/store/dialect/postgres/transaction.js';
import { freshDatabase } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';

/** Like a former primary that came back as a standby: sessions that begin now never write, later ones do. */
async function readOnlyForNow(url: string): Promise<() => Promise<void>> {
  const set = (value: string) =>
    withClient(url, async (client) => {
      const { rows } = await client.query('SELECT quote_ident(current_database()) AS name');
      await client.query(`ALTER DATABASE ${rows[0].name} SET default_transaction_read_only = ${value}`);
    });
  await withClient(url, (client) => client.query('CREATE TABLE written (n int)'));
  await set('on');
  // The setting may be changed back by a session that overrides it for itself.
  return () =>
    withClient(url, async (client) => {
      await client.query('SET default_transaction_read_only = off');
      const { rows } = await client.query('SELECT quote_ident(current_database()) AS name');
      await client.query(`ALTER DATABASE ${rows[0].name} RESET default_transaction_read_only`);
    });
}

test('after one refused write the connections of the pool are replaced, and the next writes reach the new primary', async () => {
  const { url } = await freshDatabase();
  const promote = await readOnlyForNow(url);
  // Idle connections are not closed for their age.
  const database = await openPostgres(url, { max: 4, idleMs: 0 });
  onTestFinished(() => database.close());
  const clients = await Promise.all([1, 2, 3].map(() => database.pool.connect()));
  const [first, second] = clients;
  second?.release();
  first?.release();
  await promote();
  const write = () =>
    inTransaction(database, (transaction) => transaction.run('INSERT INTO written VALUES (1)'));
  await expect(write()).rejects.toMatchObject({
    code: 'database_busy',
    message: expect.stringContaining('25006'),
  });
  // One that was in use meanwhile works until it is given back.
  expect((await clients[2]?.query('SELECT 1 AS one'))?.rows).toEqual([{ one: 1 }]);
  clients[2]?.release();
  await expect.poll(() => database.pool.idleCount).toBe(0);
  const writes = await Promise.all([write(), write(), write(), write()]);
  expect(writes).toEqual([1, 1, 1, 1]);
  expect(database.pool.idleCount).toBe(4);
});

test('a connection of its own is replaced after a refused write, and a server that only reads counts as away', async () => {
  const { url } = await freshDatabase();
  const promote = await readOnlyForNow(url);
  const connection = new OwnConnection({
    server: url,
    applicationName: 'rosterd-test',
    channel: 'told',
    onPayload: () => {},
    onConnected: () => {},
  });
  onTestFinished(() => connection.close());
  await connection.rows('SELECT 1');
  // What waits for the database is not woken for a server that would refuse its writes.
  await expect(reachPostgres(url)).rejects.toMatchObject({
    code: 'database_busy',
    message: expect.stringContaining('25006'),
  });
  await promote();
  await reachPostgres(url);
  await expect(connection.rows('INSERT INTO written VALUES (1)')).rejects.toMatchObject({
    code: 'database_busy',
  });
  expect(await connection.rows('INSERT INTO written VALUES (1) RETURNING n')).toEqual([{ n: 1 }]);
});

test('a pool that only reads keeps its connections when a write is refused', async () => {
  const { url } = await freshDatabase();
  await withClient(url, (client) => client.query('CREATE TABLE migrations (number int, version text)'));
  const database = await openPostgres(url, { readonly: true, max: 1 });
  onTestFinished(() => database.close());
  const pid = async () => (await database.pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
  const before = await pid();
  const client = await database.pool.connect();
  await expect(client.query('INSERT INTO migrations VALUES (1)')).rejects.toMatchObject({ code: '25006' });
  client.release();
  expect(await pid()).toBe(before);
});
