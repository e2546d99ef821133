import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { isFault } from '../../../../src/domain/fault.js';
import { isServerAway, withPostgresFaults } from '../../../../src/store/dialect/postgres/faults.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { inTransaction, statement } from '../../../../src/store/dialect/postgres/transaction.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';
import { postgresStore } from '../../postgres-store.js';

const raising = (code: string) =>
  `DO $$ BEGIN RAISE EXCEPTION 'Ann Example' USING ERRCODE = '${code}'; END $$`;

test.each([
  ['XX000', 'had an internal error'],
  ['58030', 'cannot read or write its files'],
  ['58P01', 'had an error of its operating system'],
  ['53400', 'has reached a limit of its configuration, such as temp_file_limit'],
  ['53000', 'has reached one of its limits'],
  ['57000', 'was interrupted by an operator'],
  ['40003', 'rolled the transaction back'],
  ['25P04', 'ended a transaction that took longer than its transaction_timeout'],
  ['F0000', 'has an error in its configuration'],
])(
  'a trouble of the server with the code %s is retried and reported without the words of the server',
  async (code, words) => {
    const database = await postgresStore();
    const failed = inTransaction(database, (transaction) => transaction.run(raising(code)));
    await expect(failed).rejects.toMatchObject({
      code: 'database_busy',
      message: `${database.url} ${words} (${code})`,
      about: { hint: expect.stringContaining('the log of the server has the cause') as unknown },
    });
    const { rows } = await database.pool.query('SELECT last_seq FROM feed_counter');
    expect(rows).toEqual([{ last_seq: 0 }]);
  },
);

test.each(['23505', '22P02', '42804'])(
  'an error that only a defect can cause stays one: %s',
  async (code) => {
    const database = await postgresStore();
    const failed = inTransaction(database, (transaction) => transaction.run(raising(code)));
    await expect(failed).rejects.toMatchObject({ name: 'error', code });
  },
);

test.each([
  ['P0001', 'its own code'],
  ['23514', 'a code of a constraint'],
  ['45000', 'a code that no server has'],
])(
  'a trigger of another program that raises %s, %s, is named and needs a person, and its words are not shown',
  async (code) => {
    const database = await postgresStore();
    await database.pool.query(
      `CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'Ann Example' USING ERRCODE = '${code}'; END $$;
       CREATE TRIGGER guard BEFORE UPDATE ON feed_counter FOR EACH ROW EXECUTE FUNCTION guard()`,
    );
    const write = () =>
      inTransaction(database, (transaction) => transaction.run('UPDATE feed_counter SET last_seq = 0'));
    const failed = await write().catch((error: unknown) => error);
    await database.pool.query('DROP TRIGGER guard ON feed_counter; DROP FUNCTION guard');
    expect(failed).toMatchObject({
      code: 'database_unusable',
      message: `${database.url} has a trigger or function guard() that refused it (${code})`,
      about: { hint: expect.stringContaining('pg_trigger') as unknown },
    });
    await write();
  },
);

test.each([
  ['UPDATE nowhere SET n = 1', 'the table or view nowhere', '42P01'],
  ['SELECT * FROM rosterd_identity.nowhere', 'the table or view rosterd_identity.nowhere', '42P01'],
  ['SELECT missing FROM leases', 'the column missing', '42703'],
  ['SELECT l.missing FROM leases l', 'the column l.missing', '42703'],
  ['INSERT INTO leases (missing) VALUES (1)', 'the column missing', '42703'],
])('what a person renamed or dropped is named: %s', async (sql, what, code) => {
  const database = await postgresStore();
  await expect(inTransaction(database, (transaction) => transaction.run(sql))).rejects.toMatchObject({
    code: 'database_unusable',
    message: `${database.url} lacks ${what} that this version reads: an earlier version of rosterd wrote it, or it was renamed or dropped (${code})`,
    about: { hint: expect.stringContaining('What was renamed or dropped has to be put back') as unknown },
  });
});

/** With one connection, so that a statement meets the session that an earlier one has changed. */
async function oneConnection() {
  const database = await openPostgres((await migratedDatabase()).url, { max: 1 });
  onTestFinished(() => database.close());
  return database;
}

const two = statement('two', 'SELECT 2 AS n');

test('a session without the statements that were prepared in it fails once and is replaced', async () => {
  const database = await oneConnection();
  const read = () => inTransaction(database, (transaction) => transaction.row(two));
  expect(await read()).toEqual({ n: 2 });
  // As a pooler does before it gives the session to another client.
  await database.pool.query('DEALLOCATE ALL');
  await expect(read()).rejects.toMatchObject({
    code: 'database_busy',
    message: `${database.url} no longer has a prepared statement of this connection (26000)`,
  });
  expect(await read()).toEqual({ n: 2 });
});

test('a session in which another client prepared a statement of the same name fails once and is replaced', async () => {
  const database = await oneConnection();
  const three = statement('three', 'SELECT 3 AS n');
  await database.pool.query(`PREPARE ${three.name} AS SELECT 4`);
  const read = () => inTransaction(database, (transaction) => transaction.row(three));
  await expect(read()).rejects.toMatchObject({
    code: 'database_busy',
    message: expect.stringContaining('(42P05)') as unknown,
  });
  expect(await read()).toEqual({ n: 3 });
});

test('a prepared statement whose columns have changed fails once and is prepared again', async () => {
  const database = await oneConnection();
  await database.pool.query('CREATE TABLE grown (n int); INSERT INTO grown VALUES (1)');
  const all = statement('grown', 'SELECT * FROM grown');
  const read = () => inTransaction(database, (transaction) => transaction.row(all));
  expect(await read()).toEqual({ n: 1 });
  await database.pool.query('ALTER TABLE grown ADD COLUMN more int');
  await expect(read()).rejects.toMatchObject({
    code: 'database_busy',
    message: expect.stringContaining('(0A000)') as unknown,
  });
  expect(await read()).toEqual({ n: 1, more: null });
  await database.pool.query('DROP TABLE grown');
});

/** A server that answers the first message of each connection with one text. */
async function answering(text: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(text));
  });
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `postgres://127.0.0.1:${(server.address() as AddressInfo).port}/mirror`;
}

test('a server that cannot start a process for a connection with TLS counts as away', async () => {
  const url = await answering('Ecould not fork new process for connection: Cannot allocate memory\n\0');
  const failed = await openPostgres(`${url}?sslmode=require`).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: 'database_busy',
    message: `${url} cannot be reached or closed the connection (closed)`,
  });
  expect(isFault(failed) && isServerAway(failed.about.cause)).toBe(true);
});

test('a server that does not answer in time is reported as a timeout, and counts as away', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `postgres://127.0.0.1:${(server.address() as AddressInfo).port}/mirror`;
  const failed = await openPostgres(url, { connectTimeoutMs: 50 }).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: 'database_busy',
    message: `${url} cannot be reached or closed the connection (ETIMEDOUT)`,
  });
  expect(isFault(failed) && isServerAway(failed.about.cause)).toBe(true);
});

test.each(['EADDRNOTAVAIL', 'EPERM', 'ENETDOWN', 'ENOBUFS', 'EHOSTDOWN', 'EAGAIN', 'ECONNABORTED'])(
  'a socket that fails with %s counts as away, also for each of several addresses',
  async (code) => {
    const one = () =>
      Object.assign(new Error(`connect ${code} 127.0.0.1:5432`), { code, syscall: 'connect' });
    for (const error of [one(), new AggregateError([one(), one()])]) {
      await expect(
        withPostgresFaults('postgres://db/mirror', () => Promise.reject(error)),
      ).rejects.toMatchObject({
        code: 'database_busy',
        message: `postgres://db/mirror cannot be reached or closed the connection (${code})`,
      });
      expect(isServerAway(error)).toBe(true);
    }
  },
);
