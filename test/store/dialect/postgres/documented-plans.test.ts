import { Kysely, PostgresDialect } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RosterWanted } from '../../../../src/console/ports/dashboard.js';
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
 * The questions of the documentation and those we ask ourselves, as they are asked, of a server with many versions:
 * what is read of the large tables, and that pages are not sorted out of everything.
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
/** Steps that sort more than a few pages. */
const sortsMuch = (steps: readonly Step[]) =>
  steps.filter(
    (step) => step['Node Type'] === 'Sort' && (step.Plans ?? []).some((input) => input['Plan Rows'] > 2_000),
  );

/** What reads a large table from end to end, and why. */
const mayScan: Readonly<Record<string, string>> = {
  'as-of': 'looks at the time of every version',
};

const plansOf = async (work: () => Promise<unknown>) => {
  asked.length = 0;
  await work();
  return Promise.all(asked.splice(0).map(plan));
};

describe('of the documented queries', () => {
  test.each(documentedQueries.filter(({ name }) => !(name in mayScan)))(
    '$name reads no large table from end to end',
    async ({ sql, postgres }) => {
      expect(scanned(await plan({ sql: postgres ?? sql, parameters: [] }))).toEqual([]);
    },
  );

  test.each(documentedQueries.filter(({ name }) => ['roster-page', 'latest-changes'].includes(name)))(
    '$name does not sort to show a page',
    async ({ sql, postgres }) => {
      expect(sortsMuch(await plan({ sql: postgres ?? sql, parameters: [] }))).toEqual([]);
    },
  );
});

describe('of the questions we ask', () => {
  const late = counts.changes - 500;
  test.each<[string, () => Promise<unknown>]>([
    ['the change feed from its beginning', () => changesSince(db, { after: 0 })],
    ['the change feed where it is followed', () => changesSince(db, { after: late })],
    ['the change feed of a source', () => changesSince(db, { after: late, source: 'source3' })],
    [
      'the change feed of a source from its beginning',
      () => changesSince(db, { after: 0, source: 'source3' }),
    ],
    ['the newest change', () => newestChange(db)],
    ['the history of a record', () => historyOf(db, 'inv_7')],
    ['the history of a record of a source', () => historyOf(db, 'inv_8', 'acme')],
    ['the page of a record', () => readRecord(db, 'acme', 'inv_8', true)],
    ['who is gone', () => goneByDay(db, 'acme', 'co_1', 'valid_to')],
    ['the largest of the newest changes', () => largestChanges(db, 'acme', 'co_1', 10)],
  ])('%s reads no large table from end to end', async (_, work) => {
    for (const steps of await plansOf(work)) expect(scanned(steps)).toEqual([]);
  });

  const wanted = (more: Partial<RosterWanted>): RosterWanted => ({
    ...{ filter: {}, order: 'applied_at', descending: true, after: null, identity: true, rowsMax: 50 },
    ...more,
  });
  const after = { value: '2026-01-15T00:00:00.000Z', id: 'inv_5', source: 'acme' };
  test.each<[string, Partial<RosterWanted>]>([
    ['the newest', {}],
    ['the oldest', { descending: false }],
    ['a later page', { after }],
    ['a later page of the oldest', { after, descending: false }],
    ['the newest of a source', { filter: { source: 'acme' } }],
    ['a later page of a source', { filter: { source: 'acme' }, after }],
    ['those without a time', { after: { ...after, value: null } }],
  ])('a page of the roster is not sorted out of everything: %s', async (_, more) => {
    const plans = await plansOf(() => rosterPage(db, wanted(more)));
    expect(plans).toHaveLength(1);
    for (const steps of plans) {
      expect(scanned(steps)).toEqual([]);
      expect(sortsMuch(steps)).toEqual([]);
    }
  });
});

test('what may read a large table does, so that the list says what is true', async () => {
  for (const { name, sql, postgres } of documentedQueries)
    if (name in mayScan)
      expect(scanned(await plan({ sql: postgres ?? sql, parameters: [] })), name).not.toEqual([]);
});
