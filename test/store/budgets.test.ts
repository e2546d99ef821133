import { describe, expect, test } from 'vitest';
import { instantFromMillis } from '../../src/domain/instant.js';
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

  test('budgets whose windows and waits ended before a time are deleted, and others stay', async () => {
    const budgets = new Budgets((await open()).connection);
    const day = 86_400_000;
    const before = instantFromMillis(10 * day);
    const old = { windowStart: 9 * day, spent: 3, blockedUntil: null };
    await budgets.save('old', old);
    await budgets.save('old-fixed', { ...old, fixed: { windowStart: 9 * day, spent: 1 } });
    await budgets.save('new', { ...old, windowStart: 11 * day });
    await budgets.save('new-fixed', { ...old, fixed: { windowStart: 11 * day, spent: 1 } });
    await budgets.save('blocked', { ...old, blockedUntil: 11 * day });
    expect(await budgets.purge(before)).toBe(2);
    const kept = await Promise.all(
      ['old', 'old-fixed', 'new', 'new-fixed', 'blocked'].map((key) => budgets.load(key)),
    );
    expect(kept.map((one) => one !== null)).toEqual([false, false, true, true, true]);
    expect(await budgets.purge(before)).toBe(0);
  });
});
