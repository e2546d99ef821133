import { expect, test } from 'vitest';
import type { SourceName } from '../../../../src/domain/ids.js';
import { buildIndexes } from '../../../../src/store/dialect/sqlite/indexes.js';
import { roundLabels, sliceSql } from '../../../../src/store/dialect/sqlite/round-labels.js';
import { freshMirror, seedInvestment, seedSource } from '../../support/mirror.js';

const nameOf = (no: number) => `source-${no}` as SourceName;

/** Two sources with rows of one round, in turns; each value is the least in another row. */
function mirrorOf(round: string) {
  const database = freshMirror();
  for (const no of [1, 2]) seedSource(database, no, { name: nameOf(no) });
  const at = (day: number) => `2026-01-0${day}T00:00:00.000Z`;
  const rows = [
    { no: 1, investment_type: 'safe', offering_type: 'regd', applied_at: at(3) },
    { no: 2, investment_type: 'aaa', offering_type: 'aaa', applied_at: at(1) },
    { no: 1, investment_type: 'equity', offering_type: 'regs', applied_at: at(4) },
    { no: 1, investment_type: 'token', offering_type: null, applied_at: at(2) },
    { no: 1, investment_type: 'safe', offering_type: 'regcf', applied_at: at(5) },
  ];
  for (const [n, { no, ...set }] of rows.entries())
    seedInvestment(database, no, `inv_${n}`, { ...set, offering_id: round });
  seedInvestment(database, 1, 'inv_other', { investment_type: 'aaa', offering_id: 'ofr_other' });
  buildIndexes(database.raw);
  return database;
}

const labels = {
  investmentType: 'equity',
  offeringType: 'regcf',
  firstAppliedAt: '2026-01-02T00:00:00.000Z',
};
const none = { investmentType: null, offeringType: null, firstAppliedAt: null };

test.each([1, 2, 4, 5, 6, 5_000])(
  'labels of a round: the least values of the source’s rows, read %i at a time',
  async (rows) => {
    const database = mirrorOf('ofr_1');
    expect(await roundLabels(database, nameOf(1), 'ofr_1', rows)).toEqual(labels);
    expect(await roundLabels(database, nameOf(1), 'ofr_none', rows)).toEqual(none);
  },
);

test('labels of a round: of a source that is not listed yet they are not known', async () => {
  const database = mirrorOf('ofr_1');
  database.raw.exec('UPDATE sources SET listed_at = NULL WHERE no = 1');
  expect(await roundLabels(database, nameOf(1), 'ofr_1')).toEqual(none);
});

test('labels of a round: other work has its turn before all rows of a large round are read', async () => {
  const done: string[] = [];
  setImmediate(() => done.push('delivery'));
  await roundLabels(mirrorOf('ofr_1'), nameOf(1), 'ofr_1', 2);
  done.push('labels');
  expect(done).toEqual(['delivery', 'labels']);
});

test('labels of a round: a slice reads the rows of the round behind the last one, and sorts nothing', () => {
  const { raw } = mirrorOf('ofr_1');
  const plan = raw
    .prepare<unknown[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sliceSql}`)
    .all({ source: 1, round: 'ofr_1', after: 0, rows: 2 })
    .map(({ detail }) => detail);
  expect(plan.filter((detail) => /investment_rows|TEMP B-TREE/.test(detail))).toEqual([
    'SEARCH investment_rows USING INDEX investment_rows_offering (offering_id=? AND rowid>?)',
  ]);
});
