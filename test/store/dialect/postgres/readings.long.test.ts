import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { postgresDialect } from '../../../../src/store/dialect/postgres/dialect.js';
import { newestChange } from '../../../../src/store/reads/changes.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';
import { wayTo } from '../../../postgres/way-to.js';

test('the dashboard reads a server with a limited number of connections, and answers every page', async () => {
  const { url } = await migratedDatabase();
  const readings = await postgresDialect({ kind: 'postgres', url, password: null }).openReadings(systemClock);
  let running = 0;
  let most = 0;
  const page = () =>
    readings.read(async (db) => {
      running += 1;
      most = Math.max(most, running);
      for (let read = 0; read < 5; read += 1) await newestChange(db);
      running -= 1;
      return 'shown';
    });
  const shown = await Promise.all(Array.from({ length: 30 }, page));
  expect(new Set(shown)).toEqual(new Set(['shown']));
  expect(most).toBeLessThanOrEqual(10);
  await readings.close();
});

test('pages whose connections fall silent fail, and the dashboard goes on', async () => {
  const way = await wayTo((await migratedDatabase()).url);
  const place = { kind: 'postgres', url: way.url, password: null } as const;
  const readings = await postgresDialect(place, 300).openReadings(systemClock);
  const page = (meanwhile = () => {}) =>
    readings
      .read(async (db) => {
        meanwhile();
        return await newestChange(db);
      })
      .catch((error: unknown) => error);
  for (let pages = 0; pages < 11; pages += 1)
    await expect.poll(() => page(way.swallow)).toMatchObject({ code: 'database_busy' });
  await expect.poll(() => page()).toBe(0);
  await readings.close();
});

test('pages and a status whose connections fell silent fail at once when the daemon closes', async () => {
  const way = await wayTo((await migratedDatabase()).url);
  const dialect = postgresDialect({ kind: 'postgres', url: way.url, password: null });
  const [readings, snapshots] = [await dialect.openReadings(systemClock), await dialect.openSnapshots()];
  let resolve = () => {};
  const both = new Promise<void>((done) => {
    resolve = done;
  });
  let open = 0;
  const reached = () => {
    open += 1;
    if (open === 2) resolve();
  };
  const page = readings.read(async (db) => {
    await newestChange(db);
    reached();
    await both;
    return await newestChange(db);
  });
  const status = snapshots.take(async (ask) => {
    await ask`SELECT 1`;
    reached();
    await both;
    return await ask`SELECT 1`;
  });
  const failed = Promise.allSettled([page, status]);
  await both;
  way.swallow();
  await Promise.all([readings.close(), snapshots.close()]);
  for (const { status: outcome } of await failed) expect(outcome).toBe('rejected');
});

test('the server ends a page that waits for a lock, and says so', async () => {
  const { url } = await migratedDatabase();
  const place = { kind: 'postgres', url, password: null } as const;
  const readings = await postgresDialect(place, 5_000).openReadings(systemClock);
  await withClient(url, async (client) => {
    await client.query('BEGIN; LOCK TABLE changes');
    await expect(readings.read(newestChange)).rejects.toMatchObject({
      code: 'database_busy',
      message: expect.stringContaining('canceled a statement that took too long (57014)'),
    });
  });
  await readings.close();
});

test('the server ends a read of a follower of the changes that waits for a lock', async () => {
  const { url } = await migratedDatabase();
  const reader = await postgresDialect({ kind: 'postgres', url, password: null }).openReader({
    answerMillis: 5_000,
  });
  await withClient(url, async (client) => {
    await client.query('BEGIN; LOCK TABLE changes');
    const fault = await newestChange(reader.db).catch((error: unknown) => reader.faultOf(error));
    expect(fault).toMatchObject({
      code: 'database_busy',
      message: expect.stringContaining('canceled a statement that took too long (57014)'),
    });
    // Otherwise each retry would leave a process of the server behind until the lock is gone.
    const { rows } = await client.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    expect(rows).toEqual([]);
  });
  await reader.close();
});
