import { afterAll, beforeAll, expect, test } from 'vitest';
import { feedSql, listingSql } from '../../../src/platform/investments/queries.js';
import { statsSql } from '../../../src/platform/investments/stats.js';
import { type RunningPlatform, startPlatform } from '../../conformance/running-platform.js';

let world: RunningPlatform;
beforeAll(async () => {
  world = await startPlatform({ companies: 1, records: 3 });
});
afterAll(() => world.close());

const parameters = {
  company: 1,
  offering: 1,
  investor: 1,
  person: 1,
  realm: 'test',
  status: 'active',
  after: 0,
  limit: 26,
};

function planOf(sql: string, values: unknown): string[] {
  const rows = world.services.state
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .all(values);
  return rows.map((row) => row.detail);
}

test.each(Object.entries(listingSql))(
  'query plan: the %s listing walks its index from the start of the page without sorting',
  (name, sql) => {
    const [first, ...rest] = planOf(sql, parameters);
    expect(first).toMatch(/^SEARCH p USING INDEX publications_\w+ \(.*investment_no>\?\)$/);
    expect(rest.join()).not.toMatch(/SCAN|TEMP B-TREE/);
    expect(name).toEqual(expect.any(String));
  },
);

test.each(Object.entries(feedSql))(
  'query plan: the %s feed walks its index from a position without sorting',
  (name, sql) => {
    const [first, ...rest] = planOf(sql, parameters);
    expect(first).toMatch(/^SEARCH l USING INDEX ledger_\w+ \(.*(seq|rowid)>\?\)$/);
    expect(rest.join()).not.toMatch(/SCAN|TEMP B-TREE/);
    expect(name).toEqual(expect.any(String));
  },
);

test('query plan: offering stats use a covering index', () => {
  expect(planOf(statsSql, [1])[0]).toMatch(/^SEARCH publications USING COVERING INDEX publications_offering/);
});
