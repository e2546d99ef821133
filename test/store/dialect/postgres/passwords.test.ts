import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Fault } from '../../../../src/domain/fault.js';
import type { PostgresLocation } from '../../../../src/store/database-location.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { OwnConnection } from '../../../../src/store/dialect/postgres/own-connection.js';
import { reachPostgres } from '../../../../src/store/dialect/postgres/reach.js';
import { inTransaction } from '../../../../src/store/dialect/postgres/transaction.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';
import { rotatingLogin } from '../../../postgres/rotating-login.js';
import { tempFolder } from '../../temp-folder.js';

/** A password that is somewhere else, and how often it was read. */
function secret(first: string, runsCommand = false) {
  const state = { value: first as string | Fault, reads: 0 };
  const password: PostgresLocation['password'] = {
    runsCommand,
    reveal: async () => {
      state.reads += 1;
      if (state.value instanceof Fault) throw state.value;
      return state.value;
    },
  };
  return { state, password };
}

test('a password that is rotated while a process runs is used by the next connections', async () => {
  const { url, replace } = await rotatingLogin();
  const { state, password } = secret('first');
  const place = { kind: 'postgres', url, password } as const;
  const database = await openPostgres(place);
  onTestFinished(() => database.close());
  const connection = new OwnConnection({
    ...{ server: place, applicationName: 'rosterd-test', channel: 'told' },
    ...{ onPayload: () => {}, onConnected: () => {} },
  });
  onTestFinished(() => connection.close());
  const read = () => inTransaction(database, (transaction) => transaction.row('SELECT 1 AS one'));
  expect([await read(), ...(await connection.rows('SELECT 1 AS one'))]).toEqual([{ one: 1 }, { one: 1 }]);

  await replace('second');
  state.value = 'second';
  await expect.poll(() => database.pool.idleCount).toBe(0);
  expect([await read(), ...(await connection.rows('SELECT 1 AS one'))]).toEqual([{ one: 1 }, { one: 1 }]);
  await reachPostgres(place);
});

test('a password that a command prints is read again when the server refuses the one before', async () => {
  const { url, replace } = await rotatingLogin();
  const { state, password } = secret('first', true);
  const database = await openPostgres({ url, password }, { max: 3 });
  onTestFinished(() => database.close());
  const read = () => inTransaction(database, (transaction) => transaction.row('SELECT 1 AS one'));
  await Promise.all([read(), read(), read()]);
  expect(state.reads).toBe(1);

  await replace('second');
  state.value = 'second';
  await expect.poll(() => database.pool.idleCount).toBe(0);
  await expect(read()).rejects.toMatchObject({
    code: 'database_busy',
    message: expect.stringContaining('refuses the password (28P01)') as unknown,
    about: { lasting: true },
  });
  expect([await read(), state.reads]).toEqual([{ one: 1 }, 2]);
});

test('a password that cannot be read ends the start, but not a process that runs', async () => {
  const { url, replace } = await rotatingLogin();
  const { state, password } = secret('first');
  const gone = new Fault('usage', 'databasePassword: the file cannot be read', { hint: 'check the path' });
  const database = await openPostgres({ url, password });
  onTestFinished(() => database.close());
  await replace('first');
  await expect.poll(() => database.pool.idleCount).toBe(0);
  state.value = gone;
  const read = () => inTransaction(database, (transaction) => transaction.row('SELECT 1 AS one'));
  await expect(read()).rejects.toMatchObject({
    code: 'database_busy',
    message: gone.message,
    about: { hint: 'check the path', lasting: true },
  });
  await expect(openPostgres({ url, password })).rejects.toBe(gone);
  state.value = 'first';
  expect(await read()).toEqual({ one: 1 });
});

test('a certificate authority that cannot be read for a moment ends no process and is named', async () => {
  const authority = join(tempFolder(), 'ca.pem');
  writeFileSync(authority, '');
  const url = new URL((await migratedDatabase()).url);
  // The driver reads the file for each connection, also for one that does without TLS.
  url.searchParams.set('sslrootcert', authority);
  url.searchParams.set('sslmode', 'disable');
  const database = await openPostgres(url.href, { max: 1 });
  onTestFinished(() => database.close());
  const client = await database.pool.connect();
  const read = () => inTransaction(database, (transaction) => transaction.row('SELECT 1 AS one'));
  // The pool makes the connection for this one when it gets the other back, which nothing waits for.
  const waiting = expect(read()).rejects.toMatchObject({
    code: 'database_busy',
    message: `${database.url} cannot be reached: ${authority} cannot be read (ENOENT)`,
    about: { hint: expect.stringContaining('sslrootcert') as unknown, lasting: true },
  });
  rmSync(authority);
  client.release(true);
  await waiting;
  writeFileSync(authority, '');
  expect(await read()).toEqual({ one: 1 });
});
