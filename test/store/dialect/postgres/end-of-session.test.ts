import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { DeclaredCursor, withCursors } from '../../../../src/store/dialect/postgres/cursor.js';
import { withPostgresFaults } from '../../../../src/store/dialect/postgres/faults.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { queryPostgres } from '../../../../src/store/dialect/postgres/query.js';
import { postgresRowSnapshot } from '../../../../src/store/dialect/postgres/snapshot.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';

const many = 'SELECT pg_backend_pid() AS pid FROM generate_series(1, 100000)';

/** Each passes on every row of `many`, which the server sends in batches. */
const readers = {
  snapshot: (url: string, onRow: (pid: number) => Promise<void>) =>
    postgresRowSnapshot(url, async (ask) => {
      for await (const { pid } of ask<{ pid: number }>(many)) await onRow(pid);
    }),
  stream: async (url: string, onRow: (pid: number) => Promise<void>) => {
    const database = await openPostgres(url, { readonly: true });
    onTestFinished(() => database.close());
    const dialect = new PostgresDialect({ pool: withCursors(database), cursor: DeclaredCursor });
    await withPostgresFaults(database.url, async () => {
      const rows = new Kysely<object>({ dialect })
        .selectFrom(sql<{ pid: number }>`(${sql.raw(many)})`.as('many'))
        .select('pid')
        .stream(100);
      for await (const { pid } of rows) await onRow(pid);
    });
  },
  query: async (url: string, onRow: (pid: number) => Promise<void>) => {
    const limits = { timeoutMs: 60_000, rowsMax: null };
    const query = await queryPostgres(url, many, limits, systemClock, new AbortController().signal);
    for await (const [pid] of query.rows) await onRow(Number(pid));
  },
};

test.each(Object.entries(readers))(
  'a %s whose session the server ends between two batches reports the reason of the server',
  async (_, read) => {
    const { url } = await migratedDatabase();
    let isEnded = false;
    const end = async (pid: number) => {
      if (isEnded) return;
      isEnded = true;
      await withClient(url, async (client) => {
        await client.query('SELECT pg_terminate_backend($1)', [pid]);
        const there = async () =>
          (await client.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid])).rows;
        await expect.poll(there).toEqual([]);
      });
    };
    await expect(read(url, end)).rejects.toMatchObject({
      code: 'database_busy',
      message: expect.stringContaining('(57P01)') as unknown,
    });
  },
);

/** As the server reports it; the driver has no constructor with these fields. */
const reported = (fields: Partial<pg.DatabaseError>) =>
  Object.assign(new pg.DatabaseError('Ann Example', 0, 'error'), { severity: 'FATAL', ...fields });

test('a read that a standby ends to replay its primary says so, and how to avoid it', async () => {
  const failed = (routine: string) =>
    withPostgresFaults('postgres://db/mirror', () => Promise.reject(reported({ code: '40001', routine })));
  for (const routine of ['ProcessInterrupts', 'ProcessRecoveryConflictInterrupt'])
    await expect(failed(routine)).rejects.toMatchObject({
      code: 'database_busy',
      message: 'postgres://db/mirror is a standby that ended a read to replay its primary (40001)',
      about: { hint: expect.stringContaining('hot_standby_feedback') as unknown },
    });
  await expect(failed('heap_update')).rejects.toMatchObject({
    message: 'postgres://db/mirror rolled the transaction back because of a concurrent one (40001)',
  });
});

test.each([
  ['a write that a standby refuses', '25006', 'name the primary under "database"'],
  [
    'a session that a pooler in transaction mode shares',
    '25006',
    'name the primary under "database", switch default_transaction_read_only off, and put no pooler in transaction mode in between',
  ],
  ['a server without a connection left', '53300', 'raise max_connections'],
  ['a lock that another transaction has', '55P03', 'look for long transactions'],
])('the fault of %s names its own way out', async (_, code, way) => {
  const failed = withPostgresFaults('postgres://db/mirror', () => Promise.reject(reported({ code })));
  await expect(failed).rejects.toMatchObject({
    code: 'database_busy',
    about: { hint: expect.stringContaining(`If it stays, ${way}`) as unknown },
  });
});
