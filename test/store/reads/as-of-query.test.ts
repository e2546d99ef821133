import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { presentState } from '../../../src/domain/as-of.js';
import { defined } from '../../../src/domain/defined.js';
import { isFault } from '../../../src/domain/fault.js';
import type { Instant } from '../../../src/domain/instant.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { hasPast, presentOnly } from '../../../src/store/as-of-views.js';
import { readAsOf as readPostgresAsOf } from '../../../src/store/dialect/postgres/as-of.js';
import { openPostgres } from '../../../src/store/dialect/postgres/open.js';
import { queryFault } from '../../../src/store/dialect/postgres/query-faults.js';
import { readAsOf as readSqliteAsOf } from '../../../src/store/dialect/sqlite/as-of.js';
import { prepareMasked } from '../../../src/store/dialect/sqlite/judge-program.js';
import { openSqlite } from '../../../src/store/dialect/sqlite/open.js';
import { prepareReading } from '../../../src/store/dialect/sqlite/reading-statement.js';
import { belowName, hideUnknownFields } from '../../../src/store/dialect/sqlite/unknown-fields.js';
import { publicRelations } from '../../../src/store/dictionary/relations.js';
import { type QueryLimits, runQuery, type SqlValue } from '../../../src/store/reads/query.js';
import { migratedDatabase } from '../../postgres/fresh-database.js';
import { reusedSessions } from '../../postgres/reused-sessions.js';
import { withClient } from '../../postgres/run-databases.js';
import { databases, postgresMirror, type WorkingMirror } from '../support/databases.js';
import { recordDefaults, sourceRow } from '../support/mirror.js';
import { reusingDatabases } from '../support/reusing-databases.js';

const [listed, changed, removed] = ['2026-10-01', '2026-10-05', '2026-10-08'].map(
  (day) => `${day}T00:00:00.000Z`,
) as [Instant, Instant, Instant];
const between = '2026-10-03T00:00:00.000Z' as Instant;
const idle = new AbortController().signal;

async function query(
  { place }: WorkingMirror,
  sql: string,
  asOf: Instant | undefined,
  more: Partial<QueryLimits> = {},
) {
  const limits = { timeoutMs: 30_000, rowsMax: null, ...defined({ asOf }), ...more };
  const running = await runQuery(place, sql, limits, systemClock, idle);
  const rows: unknown[] = [];
  for await (const row of running.rows) rows.push(row);
  return { rows, younger: running.younger, truncated: running.truncated() };
}

/** Like `query`, but on SQLite in this process: another one for each statement takes most of the time of these tests. */
async function read(
  mirror: WorkingMirror,
  sql: string,
  asOf: Instant | undefined,
  { identity = true }: Pick<QueryLimits, 'identity'> = {},
) {
  if (mirror.place.kind !== 'sqlite') return await query(mirror, sql, asOf, { identity });
  const reader = openSqlite(mirror.place.file, { readonly: true });
  try {
    if (!identity) hideUnknownFields(reader.raw, asOf !== undefined);
    const below = identity ? undefined : belowName;
    const younger = asOf === undefined ? [] : readSqliteAsOf(reader.raw, asOf, below);
    const rows = (identity ? prepareReading : prepareMasked)(reader.raw, sql).all();
    const exact = (cell: SqlValue) =>
      typeof cell === 'bigint' && Number.isSafeInteger(Number(cell)) ? Number(cell) : cell;
    return { rows: rows.map((row) => row.map(exact)), younger };
  } finally {
    reader.close();
  }
}

/** Returns the error of each statement, all of them on one connection that reads as of a past time. */
async function errorsAsOf({ place }: WorkingMirror, statements: readonly string[], at: Instant) {
  if (place.kind === 'sqlite') {
    const reader = openSqlite(place.file, { readonly: true });
    readSqliteAsOf(reader.raw, at);
    const errors = statements.map((sql) => {
      try {
        return prepareReading(reader.raw, sql).source;
      } catch (error) {
        return error;
      }
    });
    reader.close();
    return errors;
  }
  return await withClient(place.url, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await readPostgresAsOf(client, at, 'SELECT 1');
    const errors: unknown[] = [];
    const failing = { timeoutMs: 0, url: '', masked: false, rowBytesMax: 0, bytesMax: null };
    for (const statement of statements) {
      await client.query('SAVEPOINT before');
      const failed = (error: unknown) => queryFault(error, { ...failing, statement });
      errors.push(await client.query(statement).then(() => statement, failed));
      await client.query('ROLLBACK TO before');
    }
    return errors;
  });
}

const fault = (text: RegExp, hint = /./) =>
  expect.toSatisfy(
    (error: unknown) =>
      isFault(error, 'usage') && text.test(error.message) && hint.test(error.about.hint ?? ''),
  );

/** A source with an investment that stayed, one that changed and one that was withdrawn; names for the two left. */
async function seeded(open: () => Promise<WorkingMirror>): Promise<WorkingMirror> {
  const mirror = await open();
  await mirror.insert('sources', sourceRow(1, { name: 'acme', listed_at: listed, listed_seq: 1 }));
  const current = (id: string, row: number, more: object) =>
    mirror.insert('investment_rows', { row_no: row, source_no: 1, id, ...recordDefaults, ...more });
  const past = (id: string, more: object) =>
    mirror.insert('history_rows', {
      source_no: 1,
      id,
      ...recordDefaults,
      valid_from: listed,
      change_seq: 1,
      ...(more as { valid_to: string }),
    });
  await current('inv_stays', 1, {});
  await current('inv_changes', 2, { status: 'executed', valid_from: changed, change_seq: 2 });
  await past('inv_changes', { valid_to: changed, ended_by: 'update' });
  await past('inv_leaves', { valid_to: removed, ended_by: 'tombstone' });
  const change = (seq: number, id: string | null, kind: string, at: string, fields = '[]') =>
    mirror.insert('change_rows', { seq, source_no: 1, id, kind, fields, at, reason: null });
  await change(1, null, 'snapshot', listed);
  await change(2, 'inv_changes', 'changed', changed, '["status"]');
  await change(3, 'inv_leaves', 'removed', removed);
  await mirror.insert('identity_rows', { row_no: 1, name: 'Ann', email_hidden: 0 });
  await mirror.insert('identity_rows', { row_no: 2, name: 'Bob', email_hidden: 0 });
  return mirror;
}

const byStatus = 'SELECT status, investments FROM round_totals ORDER BY status';
const statuses = 'SELECT id, status FROM investments ORDER BY id';

/** States, totals, ended versions and changes in one statement, because each query starts a process or a connection. */
const everything = `
  SELECT 'state' AS what, id AS one, status AS other FROM investments
  UNION ALL SELECT 'total', status, CAST(investments AS text) FROM round_totals
  UNION ALL SELECT 'ended', id, NULL FROM investment_history
  UNION ALL SELECT 'change', CAST(seq AS text), NULL FROM changes`;

test('docs/querying.md names every view that has a past, and no other', () => {
  const text = readFileSync(join(packageRoot, 'docs', 'querying.md'), 'utf8').replaceAll(/\s+/g, ' ');
  const [, list = ''] =
    / - These views have a past: ([^.]+)\. `data_dictionary` is the same/.exec(text) ?? [];
  expect([...list.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual(
    publicRelations
      .map(({ name }) => name)
      .filter(hasPast)
      .sort(),
  );
});

describe.each(reusingDatabases)('a query as of a past time in $database', ({ open }) => {
  test('as of a past time, a query reads the states, totals, history and changes of then', async () => {
    const mirror = await seeded(open);
    const then = async (at: Instant, by = read) => {
      const { rows } = await by(mirror, everything, at);
      return (rows as string[][]).map((row) => row.filter((cell) => cell !== null).join(' ')).sort();
    };
    const atFirst = [
      'change 1',
      ...['state inv_changes active', 'state inv_leaves active', 'state inv_stays active'],
      'total active 3',
    ];
    expect(await then(listed, query)).toEqual(atFirst);
    expect(await then(between)).toEqual(atFirst);
    expect(await then(changed)).toEqual([
      ...['change 1', 'change 2', 'ended inv_changes'],
      ...['state inv_changes executed', 'state inv_leaves active', 'state inv_stays active'],
      ...['total active 2', 'total executed 1'],
    ]);
    expect(await then(removed)).toEqual([
      ...['change 1', 'change 2', 'change 3', 'ended inv_changes', 'ended inv_leaves'],
      ...['state inv_changes executed', 'state inv_stays active'],
      ...['total active 1', 'total executed 1'],
    ]);
  });

  test('as of the present state, a version dated ahead of the clock is read', async () => {
    const mirror = await seeded(open);
    expect((await read(mirror, statuses, presentState)).rows).toHaveLength(2);
  });

  test('as of a past time, roster and identities show the names of now for the investments of then', async () => {
    const mirror = await seeded(open);
    const named = (at: Instant) => read(mirror, 'SELECT id, status, name FROM roster ORDER BY id', at);
    expect((await named(between)).rows).toEqual([
      ['inv_changes', 'active', 'Bob'],
      ['inv_leaves', 'active', null],
      ['inv_stays', 'active', 'Ann'],
    ]);
    const people = await read(mirror, 'SELECT id, name FROM identities ORDER BY id', between);
    expect(people.rows).toEqual([
      ['inv_changes', 'Bob'],
      ['inv_stays', 'Ann'],
    ]);
  });

  test('as of a past time, the history has the names that companies and rounds had then', async () => {
    const mirror = await seeded(open);
    const version = { source_no: 1, change_seq: 1, reported_rounds: '[]' };
    const company = { ...version, id: 'co_1', name: 'Old Ltd', valid_from: listed };
    await mirror.insert('company_rows', { ...company, name: 'New Ltd', valid_from: removed });
    await mirror.insert('company_history_rows', { ...company, valid_to: removed, ended_by: 'update' });
    const { reported_rounds: _, ...round } = { ...version, id: 'ofr_1', company_id: 'co_1', name: 'Seed' };
    await mirror.insert('offering_rows', { ...round, name: 'Series A', valid_from: removed });
    const old = { ...round, valid_from: listed, valid_to: removed, ended_by: 'update' };
    await mirror.insert('offering_history_rows', old);
    const names = async (relation: string, at: Instant | undefined) =>
      (await read(mirror, `SELECT company_name, round_name FROM ${relation} WHERE id = 'inv_changes'`, at))
        .rows;
    expect(await names('investment_history', changed)).toEqual([['Old Ltd', 'Seed']]);
    expect(await names('investments', changed)).toEqual([['Old Ltd', 'Seed']]);
    expect(await names('investment_history', removed)).toEqual([['New Ltd', 'Series A']]);
    expect(await names('investment_history', undefined)).toEqual([['New Ltd', 'Series A']]);
  });

  test('as of a past time, every view has the columns of the dictionary, in order', async () => {
    const mirror = await seeded(open);
    const views = publicRelations.filter(({ name }) => hasPast(name));
    // One query for all views: each would take a process or a connection of its own. Without rows none reads a table.
    const sql = `SELECT * FROM ${views.map(({ name }) => `(SELECT * FROM ${name} LIMIT 0) AS ${name}`).join(', ')}`;
    const limits = { timeoutMs: 30_000, rowsMax: 1, asOf: between };
    const running = await runQuery(mirror.place, sql, limits, systemClock, idle);
    expect(running.columns).toEqual(views.flatMap(({ columns }) => columns.map(({ name }) => name)));
    for await (const _ of running.rows);
  });

  test('as of a past time, a name with its schema reads the present beside the past', async () => {
    const mirror = await seeded(open);
    const schema = mirror.place.kind === 'sqlite' ? 'main' : 'public';
    const sql = `SELECT t.id, t.status, n.status FROM investments t JOIN ${schema}.investments n USING (source, id)
      WHERE t.status <> n.status`;
    expect((await read(mirror, sql, between)).rows).toEqual([['inv_changes', 'active', 'executed']]);
    expect((await read(mirror, `SELECT state FROM ${schema}.sync_status`, between)).rows).toEqual([
      ['following'],
    ]);
  });

  test('as of a past time, every public relation without a past is refused by name, also when it is empty', async () => {
    const mirror = await seeded(open);
    expect(publicRelations.map(({ name }) => name).filter((name) => !presentOnly.includes(name))).toEqual([
      ...['investments', 'identities', 'roster', 'investment_history', 'changes'],
      ...['round_totals', 'daily_raised', 'investor_totals'],
      ...['companies', 'rounds', 'company_history', 'round_history', 'data_dictionary'],
    ]);
    const refused = (name: string) =>
      fault(new RegExp(`^${name} shows only the present`), new RegExp(`(?:main|public)\\.${name}\\b`));
    const counted = (name: string) => `SELECT count(*) FROM ${name}`;
    const errors = await errorsAsOf(mirror, presentOnly.map(counted), between);
    for (const [at, name] of presentOnly.entries()) expect(errors[at], name).toEqual(refused(name));
    await expect(query(mirror, counted('sync_status'), between)).rejects.toEqual(refused('sync_status'));
    const asAnalyst = query(mirror, 'SELECT count(*) FROM sync_status', between, { audit: false });
    await expect(asAnalyst).rejects.toEqual(fault(/^sync_status shows only the present/));
  });

  test('as of a past time, the data dictionary is read as it is', async () => {
    const mirror = await seeded(open);
    const sql = "SELECT count(*) FROM data_dictionary WHERE relation = 'investments'";
    expect((await read(mirror, sql, between)).rows).toEqual((await read(mirror, sql, undefined)).rows);
  });

  test('as of a past time, a statement that writes is refused and limits apply', async () => {
    const mirror = await seeded(open);
    const writing = [
      'DELETE FROM investments',
      'INSERT INTO investments SELECT * FROM investments',
      'DROP VIEW investments',
      'CREATE TEMP TABLE t (x int)',
      "WITH x AS (SELECT 1) UPDATE investments SET id = 'y'",
    ];
    const failed = (sql: string) => query(mirror, sql, between).catch((error: unknown) => error);
    // The server refuses what it cannot declare as a cursor; SQLite examines the statement that it prepared.
    const errors =
      mirror.place.kind === 'sqlite'
        ? await errorsAsOf(mirror, writing, between)
        : await Promise.all(writing.map(failed));
    for (const [at, sql] of writing.entries())
      expect(errors[at], sql).toEqual(fault(/only statements that read/));
    expect(await failed(writing[0] ?? '')).toEqual(fault(/only statements that read/));
    await expect(read(mirror, 'SELECT 1; SELECT 2', between)).rejects.toEqual(
      fault(/one statement at a time/),
    );
    expect(await query(mirror, statuses, between, { rowsMax: 2 })).toMatchObject({ truncated: true });
    await expect(query(mirror, statuses, between, { rowBytesMax: 3 })).rejects.toEqual(
      fault(/a row of the result/),
    );
    expect((await read(mirror, 'SELECT count(*) FROM sources', undefined)).rows).toEqual([[1]]);
  });

  test('as of a past time, masked, totals are read and names are refused', async () => {
    const mirror = await seeded(open);
    const masked = { identity: false };
    expect((await query(mirror, byStatus, between, masked)).rows).toEqual([['active', 3]]);
    const named = query(mirror, 'SELECT name FROM roster', between, masked);
    await expect(named).rejects.toEqual(fault(/which are masked/));
    for (const sql of ['SELECT name FROM identities', 'SELECT count(*) FROM roster'])
      await expect(read(mirror, sql, between, masked), sql).rejects.toEqual(fault(/which are masked/));
  });

  test('as of a time before the history began, a query fails and says when it began', async () => {
    const mirror = await seeded(open);
    const early = '2026-09-30T23:59:59.999Z' as Instant;
    await expect(read(mirror, statuses, early)).rejects.toEqual(
      fault(
        /^the history of this mirror begins at 2026-10-01T00:00:00.000Z, after 2026-09-30T23:59:59.999Z$/,
      ),
    );
    await mirror.insert('sources', sourceRow(2, { name: 'beta', listed_at: changed }));
    expect(await read(mirror, statuses, between)).toMatchObject({
      younger: [{ source: 'beta', from: changed }],
    });
    expect(await read(mirror, statuses, removed)).toMatchObject({ younger: [] });
  });

  test('as of a time whose versions were purged, a query fails and says how far the history reaches', async () => {
    const mirror = await seeded(open);
    await mirror.rows(`UPDATE sources SET history_from = '${changed}'`);
    await expect(read(mirror, statuses, between)).rejects.toEqual(
      fault(/^the history of acme reaches back to 2026-10-05/, /history\.keepDays/),
    );
    expect((await read(mirror, statuses, changed)).rows).toHaveLength(3);
  });

  test('as of any time, a mirror without a complete listing has no history', async () => {
    const mirror = await open();
    await expect(read(mirror, statuses, between)).rejects.toEqual(fault(/no history yet/));
    await mirror.insert('sources', sourceRow(1, { listed_at: null, listed_seq: null, state: 'listing' }));
    await expect(read(mirror, statuses, between)).rejects.toEqual(fault(/no first listing is complete/));
  });

  test('as of a past time, a total beyond 64 bits has its digits in exact_cents', async () => {
    const mirror = await open();
    await mirror.insert('sources', sourceRow(1, { listed_at: listed }));
    const columns = Object.keys(recordDefaults).filter((name) => !/_cents$/.test(name));
    await mirror.rows(
      `INSERT INTO investment_rows (source_no, id, committed_cents, in_escrow_cents, raised_cents, ${columns.join(', ')})
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1030)
       SELECT 1, 'inv_' || i, 9007199254740991, -9007199254740991, CASE WHEN i = 1 THEN -1 ELSE 0 END,
         ${columns.map((name) => textOf(recordDefaults[name as keyof typeof recordDefaults])).join(', ')} FROM n`,
    );
    const sql = 'SELECT committed_cents, in_escrow_cents, raised_cents, exact_cents FROM round_totals';
    const digits = '9277415232383220730';
    expect((await read(mirror, sql, between)).rows).toEqual([
      [
        ...[9223372036854775807n, -9223372036854775807n, -1],
        `{"committed_cents":"${digits}","in_escrow_cents":"-${digits}","raised_cents":"-1"}`,
      ],
    ]);
  });
});

const textOf = (value: string | number | null): string =>
  typeof value === 'string' ? `'${value}'` : String(value ?? 'NULL');

test('as of a past time, the views with whole units of SQLite read the past or are refused', async () => {
  const [sqlite] = databases;
  if (sqlite === undefined) throw new Error('no database');
  const mirror = await seeded(sqlite.open);
  const sql = "SELECT status, committed_cents, committed FROM analytics_investments WHERE id = 'inv_changes'";
  expect((await read(mirror, sql, between)).rows).toEqual([['active', 100_000, 1_000]]);
  const incoming = read(mirror, 'SELECT count(*) FROM analytics_incoming', between);
  await expect(incoming).rejects.toEqual(fault(/^analytics_incoming shows only the present/));
  const masked = read(mirror, 'SELECT name FROM analytics_roster', between, { identity: false });
  await expect(masked).rejects.toEqual(fault(/which are masked/));
});

test('as of a past time, a typed view of PostgreSQL is refused: its name has a schema, so it shows the present', async () => {
  const { url, drop } = await migratedDatabase();
  const opened = await openPostgres(url);
  onTestFinished(async () => {
    await opened.close();
    await drop();
  });
  const reused = await reusedSessions(url);
  const mirror = await seeded(async () => postgresMirror(opened, reused));
  await mirror.rows('CREATE VIEW reported AS SELECT id, committed FROM analytics.investments');
  for (const sql of [
    'SELECT status, committed FROM analytics.investments;',
    'EXPLAIN (ANALYZE) TABLE analytics.investments',
    'SELECT (SELECT count(*) FROM analytics . "investments") FROM round_totals',
    'SELECT * FROM reported',
  ])
    for (const more of [{}, { audit: false }])
      await expect(query(mirror, sql, between, more), sql).rejects.toEqual(
        fault(/^analytics\.investments shows only the present/, /^Write investments, without a schema,/),
      );
  const masked = query(mirror, 'SELECT status FROM analytics.investments', between, { identity: false });
  await expect(masked).rejects.toEqual(fault(/^analytics\.investments shows only the present/));
  await expect(read(mirror, 'TABLE analytics.sync_status', between)).rejects.toEqual(
    fault(
      /^analytics\.sync_status shows only the present/,
      /^Write public\.sync_status to read it as it is now/,
    ),
  );
  const counted = 'SELECT count(*) FROM analytics.investments';
  expect((await read(mirror, counted, undefined)).rows).toEqual([[2]]);
  // What others make, in this schema or in one of that name, is not examined.
  await mirror.rows('CREATE VIEW analytics.ours AS SELECT 7 AS seven');
  expect((await read(mirror, 'TABLE analytics.ours', between)).rows).toEqual([[7]]);
  await mirror.rows("COMMENT ON SCHEMA analytics IS 'ours'");
  expect((await read(mirror, counted, between)).rows).toEqual([[2]]);
  await expect(read(mirror, 'SELECT nothing FROM investments', between)).rejects.toEqual(
    fault(/"nothing" does not exist/),
  );
});
