import { afterEach, expect, test } from 'vitest';
import { insertInBulk } from '../../../src/platform/sandbox/seed/insert-in-bulk.js';
import { openState } from '../../../src/platform/state/database.js';
import { all } from '../../../src/platform/state/statements.js';

const state = openState(':memory:');
afterEach(() => {
  state.close();
});

const parts = () =>
  all<{ name: string; sql: string | null }>(state, 'SELECT name, sql FROM sqlite_master ORDER BY name');

test('a bulk insert runs without the indexes and triggers of the large tables, which are there again afterwards', () => {
  const before = parts();
  const during = insertInBulk(state, parts);
  const missing = before.map(({ name }) => name).filter((name) => !during.some((part) => part.name === name));
  expect(missing).toEqual(
    expect.arrayContaining([
      'publications_company',
      'ledger_time',
      'investments_company',
      'round_numbers_added',
    ]),
  );
  expect(missing.filter((name) => /^(users|offerings|companies)/.test(name))).toEqual([]);
  expect(parts()).toEqual(before);
});
