import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { migratePostgres } from '../../../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { shippedMigrations } from '../../../../src/store/migrate.js';
import { fillTarget, lookAtTarget } from '../../../../src/store/migrate-data/postgres-target.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';

test('a migration that a reading transaction blocks names its session, changes nothing, and runs after its end', async () => {
  const { url, drop } = await migratedDatabase();
  const database = await openPostgres(url);
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  const shipped = shippedMigrations('postgres');
  const next = {
    number: shipped.length + 1,
    name: 'next',
    checksum: 'x',
    sql: 'SET LOCAL lock_timeout = 50; ALTER TABLE investment_rows ADD COLUMN later text',
  };
  const migrate = () =>
    migratePostgres(database, { clock: systemClock, version: '0.0.0-test', migrations: [...shipped, next] });
  const address = new URL(url);
  address.searchParams.set('application_name', 'notebook');
  await withClient(address.href, async (client) => {
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    const [{ pid }] = rows as [{ pid: number }];
    await client.query('BEGIN; SELECT count(*) FROM investments');
    await expect(migrate()).rejects.toMatchObject({
      code: 'database_busy',
      message: expect.stringMatching(new RegExp(` is in use by notebook of \\S+ \\(process ${pid}\\)$`)),
      about: {
        hint: expect.stringMatching(`^The schema was not migrated.*pg_terminate_backend\\(${pid}\\)`),
      },
    });
    await client.query('ROLLBACK');
  });
  expect((await migrate()).ran).toEqual([expect.stringContaining('next')]);
});

test('opening a mirror whose migrations another session has locked gives up and names that session', async () => {
  const { url, drop } = await migratedDatabase();
  onTestFinished(drop);
  const session = (name: string) => {
    const address = new URL(url);
    address.searchParams.set('application_name', name);
    return address.href;
  };
  const opening = (readonly: boolean) =>
    openPostgres(url, { readonly, lockMs: 50 }).then((database) => database.close());
  await withClient(session('reader'), async (reader) => {
    // Older, and in nobody's way.
    await reader.query('BEGIN; SELECT count(*) FROM investments');
    await withClient(session('notebook'), async (client) => {
      const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
      const [{ pid }] = rows as [{ pid: number }];
      await client.query('BEGIN; LOCK TABLE migrations');
      for (const readonly of [false, true])
        await expect(opening(readonly)).rejects.toMatchObject({
          code: 'database_busy',
          message: expect.stringMatching(new RegExp(` is in use by notebook of \\S+ \\(process ${pid}\\)$`)),
          about: {
            hint: expect.stringMatching(`^The database was not opened.*pg_terminate_backend\\(${pid}\\)`),
          },
        });
      await client.query('ROLLBACK');
    });
  });
  await opening(true);
});

test('time limits that the database has do not end a migration', async () => {
  const { url, drop } = await migratedDatabase();
  onTestFinished(drop);
  const limits = ['statement_timeout', 'transaction_timeout'];
  await withClient(url, async (client) => {
    // Servers before PostgreSQL 17 do not know `transaction_timeout`.
    for (const limit of limits)
      await client.query(
        `DO $$ BEGIN ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET ${limit} = '1h';
         EXCEPTION WHEN undefined_object THEN NULL; END $$`,
      );
  });
  const database = await openPostgres(url);
  onTestFinished(() => database.close());
  const shipped = shippedMigrations('postgres');
  const sql = `CREATE TABLE limits AS SELECT DISTINCT setting FROM pg_settings WHERE name IN ('${limits.join("', '")}')`;
  const next = { number: shipped.length + 1, name: 'next', checksum: 'x', sql };
  await migratePostgres(database, {
    ...{ clock: systemClock, version: '0.0.0-test' },
    migrations: [...shipped, next],
  });
  expect((await database.pool.query('SELECT setting FROM limits')).rows).toEqual([{ setting: '0' }]);
});

test('a migration from SQLite names the session that has locked its empty target, before it copies and when it does', async () => {
  const { url, drop } = await migratedDatabase();
  const database = await openPostgres(url);
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  const copied: string[] = [];
  const copy = () =>
    fillTarget(
      database,
      url,
      async () => {
        copied.push('everything');
      },
      50,
    );
  const address = new URL(url);
  address.searchParams.set('application_name', 'notebook');
  await withClient(address.href, async (client) => {
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
    const [{ pid }] = rows as [{ pid: number }];
    await client.query('BEGIN; LOCK TABLE investment_rows');
    const named = {
      code: 'database_busy',
      message: expect.stringMatching(new RegExp(` is in use by notebook of \\S+ \\(process ${pid}\\)$`)),
      about: { hint: expect.stringMatching(`^Nothing was copied.*pg_terminate_backend\\(${pid}\\)`) },
    };
    await expect(lookAtTarget(url, 50)).rejects.toMatchObject(named);
    await expect(copy()).rejects.toMatchObject(named);
    await client.query('ROLLBACK');
  });
  await lookAtTarget(url, 50);
  await copy();
  expect(copied).toEqual(['everything']);
});

test('a migration from SQLite lets no other session write to its target while it copies', async () => {
  const { url, drop } = await migratedDatabase();
  const database = await openPostgres(url);
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  const write = () =>
    withClient(url, (client) =>
      client.query(
        `SET lock_timeout = 50; INSERT INTO forgotten (id, forgotten_at) VALUES ('inv_1', '2026-10-20T12:00:00.000Z')`,
      ),
    );
  await fillTarget(database, url, async () => {
    await expect(write()).rejects.toMatchObject({ code: '55P03' });
  });
  await write();
});
