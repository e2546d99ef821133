import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Reader } from '../../../../src/store/dialect/port.js';
import { postgresFault } from '../../../../src/store/dialect/postgres/faults.js';
import { openPostgresReader } from '../../../../src/store/dialect/postgres/reader.js';
import { KeptSnapshots, postgresSnapshot } from '../../../../src/store/dialect/postgres/snapshot.js';
import { newestChange } from '../../../../src/store/reads/changes.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';
import { wayTo } from '../../../postgres/way-to.js';

test('a reader with a short timeout drops a connection that stops responding and opens a new one', async () => {
  const { url, swallow } = await wayTo((await migratedDatabase()).url);
  // A busy server may exceed the timeout as well: the test needs a connection on which a query was answered in time.
  let opened: Reader | undefined;
  onTestFinished(() => opened?.close());
  const open = async () => {
    opened ??= await openPostgresReader(url, { answerMillis: 300 });
    return await newestChange(opened.db);
  };
  await expect.poll(() => open().catch(() => 'busy')).toBe(0);
  if (opened === undefined) throw new Error('a query was answered');
  const reader: Reader = opened;
  swallow();
  const fault = await newestChange(reader.db).catch((error: unknown) => reader.faultOf(error));
  expect(fault).toMatchObject({ code: 'database_busy' });
  await expect.poll(() => newestChange(reader.db).catch(() => 'gone')).toBe(0);
});

test('a reader of one state fails when its transaction cannot begin, and does not wait for its own connection', async () => {
  const { url } = await migratedDatabase();
  const { query } = pg.Client.prototype;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...args: readonly unknown[]
  ) {
    if (String(args[0]).startsWith('BEGIN ISOLATION'))
      return Promise.reject(Object.assign(new Error('terminating connection'), { code: '57P01' }));
    return Reflect.apply(query, this, args);
  });
  onTestFinished(() => spy.mockRestore());
  await expect(openPostgresReader(url, { oneState: true })).rejects.toMatchObject({ code: 'database_busy' });
});

test('a status whose connection stops responding fails, and the next one is read over a new connection', async () => {
  const { url, swallow } = await wayTo((await migratedDatabase()).url);
  const snapshots = new KeptSnapshots(async () => url, 300);
  onTestFinished(() => snapshots.close());
  const read = () =>
    snapshots
      .take(async (ask) => {
        await ask`SELECT 1`;
        return 'read';
      })
      .catch((error: unknown) => error);
  await expect.poll(read).toBe('read');
  swallow();
  expect(await read()).toMatchObject({ code: 'database_busy' });
  await expect.poll(read).toBe('read');
});

test('the server ends a status that waits for a lock, and says so', async () => {
  const { url } = await migratedDatabase();
  const snapshots = new KeptSnapshots(async () => url, 5_000);
  onTestFinished(() => snapshots.close());
  await withClient(url, async (client) => {
    await client.query('BEGIN; LOCK TABLE sources');
    await expect(snapshots.take((ask) => ask`SELECT name FROM sources`)).rejects.toMatchObject({
      code: 'database_busy',
      message: expect.stringContaining('did not grant a lock in time: another transaction has it (55P03)'),
    });
    // Otherwise each look at the status would leave a process of the server behind until the lock is gone.
    const { rows } = await client.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    expect(rows).toEqual([]);
  });
});

test('of the sessions with locks, a command names the one that shuts it out first, and none that waits itself', async () => {
  const { url } = await migratedDatabase();
  const named = (name: string) => {
    const address = new URL(url);
    address.searchParams.set('application_name', name);
    return address.href;
  };
  await withClient(named('waiter'), (waiter) =>
    withClient(named('reader'), (reader) =>
      withClient(named('notebook'), async (notebook) => {
        await waiter.query('BEGIN; SELECT count(*) FROM budgets');
        await reader.query('BEGIN; SELECT count(*) FROM budgets');
        await notebook.query('BEGIN; LOCK TABLE sources');
        const waiting = waiter.query('SELECT count(*) FROM sources');
        const waits = () =>
          reader.query('SELECT FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()');
        await expect.poll(async () => (await waits()).rowCount).toBeGreaterThan(0);
        const pid = (await notebook.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
        await expect(postgresSnapshot(url, (ask) => ask`SELECT name FROM sources`, 50)).rejects.toMatchObject(
          {
            message: expect.stringMatching(
              ` is in use by notebook of \\S+ \\(process ${pid}\\), reader of \\S+ \\(process \\d+\\)$`,
            ),
            about: { hint: expect.stringContaining(`pg_terminate_backend(${pid})`) },
          },
        );
        await notebook.query('ROLLBACK');
        await waiting;
      }),
    ),
  );
});

test('a server that accepts a connection but never responds is reported as unreachable', async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const { port } = silent.address() as AddressInfo;
  const client = new pg.Client({ host: '127.0.0.1', port, connectionTimeoutMillis: 50 });
  client.on('error', () => {});
  // The error text comes from the driver and may change.
  const error = await client.connect().catch((thrown: unknown) => thrown);
  expect(postgresFault(error, 'postgres://there')).toMatchObject({
    code: 'database_busy',
    message: expect.stringContaining('cannot be reached'),
  });
});
