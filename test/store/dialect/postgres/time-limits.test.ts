import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { backUpPostgres } from '../../../../src/store/dialect/postgres/backup.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { queryPostgres } from '../../../../src/store/dialect/postgres/query.js';
import { openPostgresReader } from '../../../../src/store/dialect/postgres/reader.js';
import { restorePostgres } from '../../../../src/store/dialect/postgres/restore.js';
import { postgresRowSnapshot, postgresSnapshot } from '../../../../src/store/dialect/postgres/snapshot.js';
import { longWorkLimits, withoutTimeLimits } from '../../../../src/store/dialect/postgres/time-limits.js';
import { inTransaction } from '../../../../src/store/dialect/postgres/transaction.js';
import { migratedTables } from '../../../../src/store/migrate-data/migrated-tables.js';
import { fillTarget } from '../../../../src/store/migrate-data/postgres-target.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';
import { tempFolder } from '../../temp-folder.js';

test.each([
  [160_010, 'SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 7'],
  [
    170_000,
    'SET LOCAL statement_timeout = 0; SET LOCAL transaction_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 7',
  ],
])('time limits: of a server of version %i, those that it has are lifted', (version, statements) => {
  expect(withoutTimeLimits({ version }, 7)).toBe(statements);
});

const names = ['statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout'] as const;

/** A mirror in a database that limits everything to an hour. Servers before version 17 have no limit for transactions. */
async function limited() {
  const { url, drop } = await migratedDatabase();
  onTestFinished(drop);
  const known = await withClient(url, async (client) => {
    const { rows } = await client.query('SELECT name FROM pg_settings WHERE name = ANY ($1)', [names]);
    const present = names.filter((name) => rows.some((row) => row.name === name));
    for (const name of present)
      await client.query(`ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET ${name} = '1h'`);
    return present;
  });
  const database = await openPostgres(url);
  onTestFinished(database.close);
  return { url, database, known };
}

test('time limits that a database has apply to no transaction of rosterd that may last', async () => {
  const { url, database, known } = await limited();
  expect([...longWorkLimits(database), 'idle_in_transaction_session_timeout']).toEqual(known);
  const current = `concat_ws(' ', ${known.map((name) => `current_setting('${name}')`).join(', ')})`;
  const asked = `SELECT ${current} AS limits`;
  const all = (value: string) => known.map(() => value).join(' ');
  const idle = (value: string) => all('0').replace(/0$/, value);
  // A page commits within seconds, so the server may end a transaction that is idle for ten.
  expect(await inTransaction(database, (transaction) => transaction.rows(asked))).toEqual([
    { limits: idle('10s') },
  ]);
  for (const oneState of [true, false]) {
    const reader = await openPostgresReader(url, { oneState });
    onTestFinished(reader.close);
    const limits = sql<string>`${sql.raw(current)}`.as('limits');
    for await (const row of reader.db.selectNoFrom(limits).stream())
      expect(row).toEqual({ limits: all('0') });
  }
  await postgresRowSnapshot(url, async (ask) => {
    for await (const row of ask(asked)) expect(row).toEqual({ limits: all('0') });
  });
  // A query has a limit of its own.
  const own = { timeoutMs: 20_000, rowsMax: null };
  const query = await queryPostgres(url, asked, own, systemClock, new AbortController().signal);
  for await (const row of query.rows) expect(row).toEqual([idle('140s').replace(/^0/, '20s')]);
  // What is read at once is limited as an administrator wants it.
  expect(await postgresSnapshot(url, (ask) => ask([asked] as unknown as TemplateStringsArray))).toEqual([
    { limits: all('1h') },
  ]);
});

test('time limits that a database has do not apply to a restore, nor to a migration from SQLite', async () => {
  const { url, database, known } = await limited();
  const checks = longWorkLimits(database).map((name) => `current_setting('${name}') <> '0'`);
  expect(checks).toHaveLength(known.length - 1);
  const place = { kind: 'postgres', url, password: null } as const;
  const file = join(tempFolder(), 'mirror.backup');
  const parts = {
    clock: systemClock,
    env: { PATH: '/nowhere' },
    version: '0.1.0',
    signal: new AbortController().signal,
  };
  await backUpPostgres(place, file, parts);
  await database.pool.query(
    `CREATE FUNCTION refuse_limits() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN IF ${checks.join(' OR ')} THEN RAISE EXCEPTION 'limited'; END IF; RETURN NULL; END $$;
     CREATE TRIGGER refuse_limits BEFORE INSERT OR TRUNCATE ON forgotten EXECUTE FUNCTION refuse_limits()`,
  );
  const forgotten = migratedTables.filter(({ name }) => name === 'forgotten');
  expect(
    await fillTarget(database, url, async (target) => {
      let rows = 0;
      for (const table of forgotten)
        rows += await target.write(table, ['id', 'forgotten_at'], ['inv_1\t2026-10-20T12:00:00.000Z\n']);
      return rows;
    }),
  ).toBe(1);
  const request = { ...parts, force: true, identity: 'keep', leaseMs: 30_000 } as const;
  const hooks = { prepare: async () => {}, remember: () => [] };
  expect(await restorePostgres(file, place, request, hooks)).toMatchObject({ format: 'copy' });
});
