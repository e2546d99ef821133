import { describe, expect, test } from 'vitest';
import { Budgets } from '../../src/store/budgets.js';
import { databases } from './support/databases.js';

describe.each(databases)('budgets in $database', ({ open }) => {
  test('the budget of each key is stored, and the latest save wins', async () => {
    const budgets = new Budgets((await open()).connection);
    expect(await budgets.load('k1')).toBeNull();
    await budgets.save('k1', { windowStart: 1_000, spent: 3, blockedUntil: null });
    await budgets.save('k2', { windowStart: 2_000, spent: 9, blockedUntil: 5_001 });
    await budgets.save('k1', { windowStart: 1_000, spent: 4, blockedUntil: 7_003 });
    const alone = { fixed: null };
    expect(await budgets.load('k1')).toEqual({ windowStart: 1_000, spent: 4, blockedUntil: 7_003, ...alone });
    expect(await budgets.load('k2')).toEqual({ windowStart: 2_000, spent: 9, blockedUntil: 5_001, ...alone });
    const both = { windowStart: 1_000, spent: 5, blockedUntil: null, fixed: { windowStart: 900, spent: 8 } };
    await budgets.save('k1', both);
    expect(await budgets.load('k1')).toEqual(both);
  });
});
