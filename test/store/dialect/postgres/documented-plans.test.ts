import { Kysely, PostgresDialect } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RosterWanted } from '../../../../src/console/ports/roster.js';
import type { PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { documentedQueries } from '../../../../src/store/documented-queries.js';
import { changesSince, newestChange } from '../../../../src/store/reads/changes.js';
import { goneByDay, largestChanges } from '../../../../src/store/reads/dashboard/company.js';
import { readRecord } from '../../../../src/store/reads/dashboard/record.js';
import { rosterPage } from '../../../../src/store/reads/dashboard/roster.js';
import { historyOf } from '../../../../src/store/reads/history.js';
import type { ReadDatabase } from '../../../../src/store/reads/views.js';
import { counts, manyVersions } from './many-versions.js';

/*
 * Plans of the documented queries and of rosterd's own queries, on a database with many versions: which large tables
 * they scan, and that pages are not produced by sorting all rows.
 */

interface Asked {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

let database: PostgresDatabase;
let db: Kysely<ReadDatabase>;
const asked: Asked[] = [];

beforeAll(async () => {
  database = await manyVersions();
  db = new Kysely<ReadDatabase>({
    dialect: new PostgresDialect({ pool: database.pool }),
    log: ({ query: { sql, parameters } }) => void asked.push({ sql, parameters }),
  });
}, 600_000);

afterAll(() => database?.close());

interface Step {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Plan Rows': number;
  readonly 'Total Cost': number;
  readonly Plans?: readonly Step[];
}

const stepsOf = (step: Step): readonly Step[] => [step, ...(step.Plans ?? []).flatMap(stepsOf)];

async function plan({ sql, parameters }: Asked): Promise<readonly Step[]> {
  const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN (FORMAT JSON) ${sql}`, [
    ...parameters,
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error('no plan');
  const [{ Plan }] = JSON.parse(row['QUERY PLAN']) as [{ Plan: Step }];
  return stepsOf(Plan);
}

const large = /^(?:investment|identity|history|change)_rows$/;
const scanned = (steps: readonly Step[]) =>
  steps.flatMap((step) =>
    step['Node Type'] === 'Seq Scan' && large.test(step['Relation Name'] ?? '')
      ? [step['Relation Name']]
      : [],
  );
/** Returns the sort steps with many input rows. */
const sortsMuch = (steps: readonly Step[]) =>
  steps.filter(
    (step) => step['Node Type'] === 'Sort' && (step.Plans ?? []).some((input) => input['Plan Rows'] > 2_000),
  );

/** Queries that may scan a large table, with the reason. */
const mayScan: Readonly<Record<string, string>> = {
  'as-of': 'reads the time of every version',
};

const plansOf = async (work: () => Promise<unknown>) => {
  asked.length = 0;
  await work();
  return Promise.all(asked.splice(0).map(plan));
};

describe('plans of the documented queries', () => {
  test.each(documentedQueries.filter(({ name }) => !(name in mayScan)))(
    'the query $name scans no large table',
    async ({ sql, postgres }) => {
      expect(scanned(await plan({ sql: postgres ?? sql, parameters: [] }))).toEqual([]);
    },
  );

  test.each(documentedQueries.filter(({ name }) => ['roster-page', 'latest-changes'].includes(name)))(
    'the query $name returns a page without a large sort',
    async ({ sql, postgres }) => {
      expect(sortsMuch(await plan({ sql: postgres ?? sql, parameters: [] }))).toEqual([]);
    },
  );
});

describe('plans of rosterd’s own queries', () => {
  const late = counts.changes - 500;
  test.each<[string, () => Promise<unknown>]>([
    ['the change feed from its beginning', () => changesSince(db, { after: 0 })],
    ['the change feed at its end', () => changesSince(db, { after: late })],
    ['the change feed of a source', () => changesSince(db, { after: late, source: 'source3' })],
    [
      'the change feed of a source from its beginning',
      () => changesSince(db, { after: 0, source: 'source3' }),
    ],
    ['the newest change', () => newestChange(db)],
    ['the history of a record', () => historyOf(db, 'inv_7')],
    ['the history of a record of a source', () => historyOf(db, 'inv_8', 'acme')],
    ['the page of a record', () => readRecord(db, 'acme', 'inv_8', true)],
    ['withdrawn investments', () => goneByDay(db, 'acme', 'co_1', 'valid_to')],
    ['the largest of the newest changes', () => largestChanges(db, 'acme', 'co_1', 10)],
  ])('the query for %s scans no large table', async (_, work) => {
    for (const steps of await plansOf(work)) expect(scanned(steps)).toEqual([]);
  });

  const columns = 'seq, source, id, kind, fields, reason, at';
  test.each([
    `SELECT ${columns} FROM changes WHERE seq > $1 ORDER BY seq LIMIT 1000`,
    `SELECT ${columns} FROM changes WHERE source = 'source3' AND seq > $1`,
    'SELECT count(*) FROM changes WHERE seq > $1',
  ])('without names, nothing but the changes and their sources is read: %s', async (sql) => {
    const tables = (await plan({ sql, parameters: [late] })).map(
      (step) => step['Relation Name'] ?? 'change_rows',
    );
    expect(new Set(tables)).toEqual(new Set(['change_rows', 'sources']));
  });

  test('a page of the change feed is expected to cost less than what a server begins to compile', async () => {
    const [[page] = []] = await plansOf(() => changesSince(db, { after: 0 }));
    const { rows } = await database.pool.query<{ most: string }>(
      "SELECT boot_val AS most FROM pg_settings WHERE name = 'jit_above_cost'",
    );
    expect(page?.['Total Cost']).toBeGreaterThan(10_000);
    expect(page?.['Total Cost']).toBeLessThan(Number(rows[0]?.most));
  });

  const wanted = (more: Partial<RosterWanted>): RosterWanted => ({
    filter: {},
    order: 'applied_at',
    descending: true,
    after: null,
    identity: true,
    rowsMax: 50,
    ...more,
  });
  const after = { value: '2026-01-08T00:00:00.000Z', id: 'inv_5', source: 'acme' };
  test.each<[string, Partial<RosterWanted>]>([
    ['the newest', {}],
    ['the oldest', { descending: false }],
    ['a later page', { after }],
    ['a later page of the oldest', { after, descending: false }],
    ['the newest of a source', { filter: { source: 'acme' } }],
    ['a later page of a source', { filter: { source: 'acme' }, after }],
    ['rows without a time', { after: { ...after, value: null } }],
  ])('a roster page needs no scan and no large sort: %s', async (_, more) => {
    const plans = await plansOf(() => rosterPage(db, wanted(more)));
    expect(plans).toHaveLength(1);
    for (const steps of plans) {
      expect(scanned(steps)).toEqual([]);
      expect(sortsMuch(steps)).toEqual([]);
    }
  });
});

test('every query that is allowed to scan a large table does scan one', async () => {
  for (const { name, sql, postgres } of documentedQueries)
    if (name in mayScan)
      expect(scanned(await plan({ sql: postgres ?? sql, parameters: [] })), name).not.toEqual([]);
});
