import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/runtime/clock.js';
import { openPostgres } from '../../../../src/store/dialect/postgres/open.js';
import { queryPostgres } from '../../../../src/store/dialect/postgres/query.js';
import { queryFault } from '../../../../src/store/dialect/postgres/query-faults.js';
import { inTransaction } from '../../../../src/store/dialect/postgres/transaction.js';
import { withFoundPeople } from '../../../../src/store/reads/dashboard/find-people.js';
import type { QueryLimits } from '../../../../src/store/reads/query.js';
import { readMirror } from '../../../../src/store/reads/read-mirror.js';
import { migratedDatabase } from '../../../postgres/fresh-database.js';
import { withClient } from '../../../postgres/run-databases.js';

/** Settings that change how values are written, how a text in a statement is read, and what beside another transaction fails. */
const others = {
  standard_conforming_strings: 'off',
  datestyle: "'German, DMY'",
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-3',
  default_transaction_isolation: 'serializable',
};

/** A mirror in a database with these settings. */
async function withOtherSettings() {
  const { url, drop } = await migratedDatabase();
  onTestFinished(drop);
  await withClient(url, async (client) => {
    const name = `"${new URL(url).pathname.slice(1)}"`;
    for (const [setting, value] of Object.entries(others))
      await client.query(`ALTER DATABASE ${name} SET ${setting} = ${value}`);
  });
  const ask = async (sql: string, rights: Pick<QueryLimits, 'audit' | 'identity'> = {}) => {
    const limits = { timeoutMs: 20_000, rowsMax: null, ...rights };
    const query = await queryPostgres(url, sql, limits, systemClock, new AbortController().signal);
    const rows: unknown[] = [];
    for await (const row of query.rows) rows.push(row);
    return rows;
  };
  return { url, ask };
}

test.each([
  ['shown', {}],
  ['masked', { identity: false }],
])('with names %s, a query returns the same whatever the settings of the database', async (_, rights) => {
  const { ask } = await withOtherSettings();
  const sql = String.raw`SELECT '2026-10-19 23:59:59'::timestamp AS at, '1 day 02:00'::interval AS took, 'abc'::bytea AS body,
    (0.1::float8 + 0.2::float8) AS amount, 'a\b' AS text`;
  expect(await ask(sql, rights)).toEqual([
    ['2026-10-19 23:59:59', '1 day 02:00:00', Buffer.from('abc'), 0.30000000000000004, String.raw`a\b`],
  ]);
});

test('whatever the settings of the database, no view reads the audit log for an analyst', async () => {
  const { url, ask } = await withOtherSettings();
  const audited = "table_to_xml(('audit' || '_log')::regclass, true, true, '')";
  await withClient(url, (client) => client.query(`CREATE VIEW quiet AS VALUES ('x'), (${audited}::text)`));
  await expect(ask('SELECT * FROM quiet', { audit: false })).rejects.toThrow('cannot be checked');
});

test('whatever the settings of the database, people are found by parts of their names', async () => {
  const { url } = await withOtherSettings();
  const person = String.raw`50%_!\ off`;
  const place = { kind: 'postgres', url, password: null } as const;
  expect(await readMirror(place, (db) => withFoundPeople(db, { person }))).toEqual({
    ...{ person, ids: [], onlyPeople: true },
  });
});

test('whatever the settings of the database, a transaction goes on with what the one that it waited for has committed', async () => {
  const { url } = await withOtherSettings();
  const databases = [await openPostgres(url), await openPostgres(url)];
  onTestFinished(async () => {
    for (const database of databases) await database.close();
  });
  const add = 'UPDATE feed_counter SET last_seq = last_seq + 1 RETURNING last_seq';
  const counted = await Promise.all(
    databases.flatMap((database) =>
      Array.from({ length: 20 }, () =>
        inTransaction(database, async (transaction) => {
          // Its snapshot, if it keeps one, is from before it waits.
          await transaction.row('SELECT 1');
          return (await transaction.row<{ last_seq: number }>(add))?.last_seq;
        }),
      ),
    ),
  );
  expect(counted.sort((a = 0, b = 0) => a - b)).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
});

test.each(['25P03', '25P04'])(
  'a query whose transaction the server ended is no wrong statement, but may be run again: %s',
  (code) => {
    const failing = { timeoutMs: 0, url: 'postgres://db/mirror', statement: 'SELECT 1', masked: false };
    const error = Object.assign(new Error('terminating connection'), { code, severity: 'FATAL' });
    expect(queryFault(error, { ...failing, rowBytesMax: 0, bytesMax: null })).toMatchObject({
      code: 'database_busy',
      message: expect.stringContaining(`postgres://db/mirror ended a transaction that`) as unknown,
    });
  },
);
