import { expect, test } from 'vitest';
import type { BudgetState } from '../../src/client/budget.js';
import { Budgets } from '../../src/client/budgets.js';
import { PlatformTime } from '../../src/client/platform-time.js';
import { silentLogger } from '../../src/runtime/logger.js';

const hour = 3_600_000;
const start = Date.UTC(2026, 9, 20, 9);
const rule = { limit: 100, windowMillis: hour, reserve: 20 };
const { signal } = new AbortController();

function budgets(held: BudgetState | null, askTime: () => Promise<void> = async () => {}) {
  const clock = { at: start, now: () => clock.at, monotonic: () => clock.at, wait: async () => {} };
  const saved: BudgetState[] = [];
  const store = {
    load: async () => saved.at(-1) ?? held,
    save: async (_key: string, state: BudgetState) => void saved.push(state),
  };
  const open = () => new Budgets({ store, time: new PlatformTime(clock), logger: silentLogger, askTime });
  return { clock, saved, open };
}

test('budgets: simultaneous requests are all counted', async () => {
  const one = budgets(null).open();
  await Promise.all(Array.from({ length: 30 }, () => one.take('key', rule, 'routine', signal)));
  expect(await one.quota('key', rule)).toMatchObject({ left: 70 });
});

test('budgets: requests sent while the platform is asked for the time are counted', async () => {
  let told = () => {};
  const asked = new Promise<void>((resolve) => {
    told = resolve;
  });
  const one = budgets({ windowStart: start, spent: 85, blockedUntil: null }, () => asked).open();
  const refused = one.take('key', rule, 'routine', signal);
  await one.take('key', rule, 'webhook', signal);
  told();
  await expect(refused).rejects.toMatchObject({ code: 'rate_limited' });
  expect(await one.quota('key', rule)).toMatchObject({ left: 14 });
});

test('budgets: a window stored under a clock a month ahead ends in an hour, also across restarts', async () => {
  const { clock, open } = budgets({ windowStart: start + 30 * 24 * hour, spent: 100, blockedUntil: null });
  for (const minutes of [0, 25, 50]) {
    clock.at = start + minutes * 60_000;
    await expect(open().take('key', rule, 'webhook', signal)).rejects.toMatchObject({
      code: 'rate_limited',
      about: { retryAt: new Date(start + hour).toISOString() },
    });
  }
  clock.at = start + hour;
  await open().take('key', rule, 'routine', signal);
});

test('budgets: repeated refusals write nothing', async () => {
  const { saved, open } = budgets({ windowStart: start, spent: 100, blockedUntil: null });
  const one = open();
  for (let times = 0; times < 3; times += 1)
    await expect(one.take('key', rule, 'webhook', signal)).rejects.toMatchObject({ code: 'rate_limited' });
  expect(saved).toEqual([]);
});

test('budgets: with shared budgets, a webhook does not wait for another request that asks for the time', async () => {
  let held: BudgetState | null = { windowStart: start, spent: 85, blockedUntil: null };
  const store = {
    load: async () => held,
    save: async () => {},
    swap: async (_key: string, before: BudgetState | null, after: BudgetState) => {
      const isAsSeen = JSON.stringify(before) === JSON.stringify(held);
      if (isAsSeen) held = after;
      return isAsSeen;
    },
  };
  let told = () => {};
  const asked = new Promise<void>((resolve) => {
    told = resolve;
  });
  const clock = { now: () => start, monotonic: () => start, wait: async () => {} };
  const one = new Budgets({
    store,
    time: new PlatformTime(clock),
    logger: silentLogger,
    askTime: () => asked,
  });
  const refused = one.take('key', rule, 'routine', signal);
  await one.take('key', rule, 'webhook', signal);
  expect(held?.spent).toBe(86);
  told();
  await expect(refused).rejects.toMatchObject({ code: 'rate_limited' });
  expect(held?.spent).toBe(86);
});
