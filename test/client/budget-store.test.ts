import { expect, test } from 'vitest';
import { type StoredBudget, settleMillis } from '../../src/client/budget.js';
import { Budgets, digestOf } from '../../src/client/budgets.js';
import type { Call } from '../../src/client/fetch/fetch.js';
import { PlatformTime } from '../../src/client/platform-time.js';
import type { BudgetStore } from '../../src/client/ports.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.UTC(2026, 9, 20, 9);
const rule = { limit: 100, windowMillis: hour, reserve: 20 };
const { signal } = new AbortController();

/** Budgets over a store that remembers what it was asked, with the warnings that they log. */
function stage(more: Partial<BudgetStore> = {}) {
  const clock = { at: start, now: () => clock.at, monotonic: () => clock.at, wait: async () => {} };
  const saved: StoredBudget[] = [];
  const loaded: string[] = [];
  const warned: string[] = [];
  let asked = 0;
  const store: BudgetStore = {
    load: async (key) => {
      loaded.push(key);
      return (await more.load?.(key)) ?? null;
    },
    save: more.save ?? (async (_, state) => void saved.push(state)),
    ...(more.swap === undefined ? {} : { swap: more.swap }),
  };
  const logger: Logger = { ...silentLogger, warn: (_, message) => warned.push(message) };
  const time = new PlatformTime(clock);
  const askTime = async () => {
    asked += 1;
  };
  const one = new Budgets({ store, time, logger, askTime });
  const take = async (many = 1, key = 'key') => {
    for (let request = 0; request < many; request += 1) await one.take(key, rule, 'webhook', signal);
  };
  /** A response of the platform with the right time. */
  const hear = () =>
    time.listen(async () => ({
      status: 200,
      headers: { get: () => new Date(clock.at).toUTCString() },
      body: '',
    }))({} as Call);
  const left = (key = 'key') => one.left(key, rule).map((count) => count.left);
  return { clock, saved, loaded, warned, one, take, hear, left, asked: () => asked };
}

test('budgets: requests are stored ten at a time and ahead, in both counts', async () => {
  const { take, saved } = stage();
  const of = (spent: number) => ({
    windowStart: start,
    spent,
    blockedUntil: null,
    fixed: { windowStart: start, spent },
  });
  await take(10);
  expect(saved).toEqual([of(10)]);
  await take(1);
  expect(saved).toEqual([of(10), of(20)]);
});

test('budgets: a store that cannot be read or written is logged, and requests are counted without it', async () => {
  const fail = async (): Promise<never> => {
    throw new Error('away');
  };
  const { take, left, warned } = stage({ load: fail, save: fail });
  await take(10);
  expect(left()).toEqual([90, 90]);
  expect(warned).toEqual([
    'a request budget could not be read and starts over',
    'a request budget could not be saved',
  ]);
});

test('budgets: a shared store that other processes change all the time is logged, and the request is sent', async () => {
  let swaps = 0;
  const { take, left, warned } = stage({
    swap: async () => {
      swaps += 1;
      if (swaps > 1_000) throw new Error('it never ends');
      return false;
    },
  });
  await take();
  expect(left()).toEqual([99, 99]);
  expect(swaps).toBeLessThan(100);
  expect(warned).toEqual(['a request budget could not be shared']);
});

test('budgets: a shared store that cannot be written is logged once until it works, and the requests are sent', async () => {
  let isAway = true;
  const { take, left, warned } = stage({
    swap: async () => {
      if (isAway) throw new Error('away');
      return true;
    },
  });
  await take();
  expect(left()).toEqual([99, 99]);
  await take(2);
  await take(2, 'other');
  expect(warned).toEqual(['a request budget could not be shared']);
  isAway = false;
  await take();
  isAway = true;
  await take(2);
  expect(left()).toEqual([94, 94]);
  expect(warned).toEqual(Array(2).fill('a request budget could not be shared'));
});

/** A store that another process may change: by compare-and-swap, as it is shared. */
function shared() {
  const store = {
    held: null as StoredBudget | null,
    swaps: 0,
    load: async () => store.held,
    swap: async (_: string, before: StoredBudget | null, after: StoredBudget) => {
      const isAsSeen = before?.windowStart === store.held?.windowStart && before?.spent === store.held?.spent;
      store.swaps += 1;
      if (isAsSeen) store.held = after;
      return isAsSeen;
    },
  };
  return store;
}

test('budgets: before a shared budget refuses, it reads whether another process learned of a new window', async () => {
  const store = shared();
  const { clock, take, left } = stage(store);
  await take(100);
  await expect(take()).rejects.toMatchObject({ code: 'rate_limited' });
  const windowStart = start + 10 * minute;
  clock.at = windowStart + minute;
  store.held = { windowStart, spent: 7, blockedUntil: null, fixed: { windowStart, spent: 7 } };
  await take();
  expect(left()).toEqual([92, 92]);
});

test('budgets: refusals of a shared budget write nothing', async () => {
  const store = shared();
  const { take } = stage(store);
  await take(100);
  const { swaps } = store;
  for (let request = 0; request < 3; request += 1)
    await expect(take()).rejects.toMatchObject({ code: 'rate_limited' });
  expect(store.swaps).toBe(swaps);
});

test('budgets: requests at the end of a window of a shared budget count in the next one too', async () => {
  const { clock, take, left } = stage(shared());
  await take(3);
  clock.at = start + hour - 1;
  await take(5);
  clock.at = start + hour + settleMillis;
  expect(left()).toEqual([95, 95]);
  await take();
  expect(left()).toEqual([94, 94]);
});

test('budgets: refreshing reads what others spent of a shared budget in use, once at a time', async () => {
  let held: StoredBudget | null = null;
  const { one, take, left, loaded } = stage({
    load: async () => held,
    swap: async (_, __, after) => {
      held = after;
      return true;
    },
  });
  await one.refresh('key', rule);
  expect(loaded).toEqual([]);
  await take();
  held = { windowStart: start, spent: 31, blockedUntil: null, fixed: { windowStart: start, spent: 41 } };
  await Promise.all([one.refresh('key', rule), one.refresh('key', rule)]);
  expect(left()).toEqual([69, 59]);
  expect(loaded).toHaveLength(2);
  await one.refresh('key', rule);
  expect(loaded).toHaveLength(3);
});

test('budgets: refreshing does nothing where one process counts alone', async () => {
  const { one, take, left, loaded } = stage();
  await take();
  await one.refresh('key', rule);
  expect([left(), loaded]).toEqual([[99, 99], ['key']]);
});

test('budgets: a refusal asks the platform for the time, unless it told the time in the last 15 seconds', async () => {
  const { clock, take, hear, asked } = stage();
  await hear();
  await take(100);
  for (const [later, times] of [
    [15_000, 0],
    [1, 1],
  ] as const) {
    clock.at += later;
    await expect(take()).rejects.toMatchObject({ code: 'rate_limited' });
    expect(asked()).toBe(times);
  }
});

test('budgets: the end of a block is not decided on clocks that disagree without asking for the time', async () => {
  for (const [isSure, times] of [
    [true, 0],
    [false, 1],
  ] as const) {
    const { one, clock, take, hear, asked } = stage();
    if (isSure) await hear();
    await one.block('key', rule, minute, false);
    clock.at += minute;
    await take();
    expect(asked()).toBe(times);
    await take();
    expect(asked()).toBe(times);
  }
});

test('budgets: a 429 whose window ends within three seconds of a full hour means windows of full hours', async () => {
  for (const [apart, begins] of [
    [-3_000, 0],
    [3_000, 0],
    [3_001, 3_001],
  ] as const) {
    const { one, clock, take } = stage();
    clock.at = start + 10 * minute;
    await one.block('key', rule, 50 * minute + apart, true);
    clock.at = start + hour + minute;
    await take();
    const [, fixed] = one.left('key', rule);
    expect(fixed?.resetsInMillis).toBe(start + 2 * hour + begins + settleMillis - clock.at);
  }
});

test('budgets: a 429 spends both counts until its window ends, one of another limit changes neither', async () => {
  const { one, clock, take, left } = stage();
  const resets = () => one.left('key', rule).map(({ resetsInMillis }) => resetsInMillis + clock.at);
  await take(40);
  await one.block('key', rule, minute, false);
  clock.at = start + minute;
  expect(left()).toEqual([60, 60]);
  clock.at = start + hour + 5 * minute;
  await take();
  expect(resets()).toEqual([clock.at + hour + settleMillis, start + 2 * hour + settleMillis]);
  await one.block('key', rule, 10 * minute, true);
  expect(left()).toEqual([0, 0]);
  clock.at += 10 * minute;
  expect(left()).toEqual([100, 100]);
});

test('budgets: a request that one count refuses is not counted in the other', async () => {
  const windowStart = start - 30 * minute;
  for (const [spent, spentOfHour, expected] of [
    [0, 100, [100, 0]],
    [100, 10, [0, 90]],
  ] as const) {
    const fixed = { windowStart: start, spent: spentOfHour };
    const { take, left } = stage({ load: async () => ({ windowStart, spent, blockedUntil: null, fixed }) });
    for (let request = 0; request < 3; request += 1)
      await expect(take()).rejects.toMatchObject({ code: 'rate_limited' });
    expect(left()).toEqual(expected);
  }
});

test('budgets: a quota is what is left of the smaller count, and when that one starts over', async () => {
  const { one, clock, take } = stage();
  clock.at = start + 50 * minute;
  await take(30);
  const at = (millis: number) => new Date(millis + settleMillis).toISOString();
  // Both counts are equal: the window of the token ends later.
  expect(await one.quota('key', rule)).toEqual({ limit: 100, left: 70, resetsAt: at(start + 110 * minute) });
  // A new hour has begun, the window of the token has not ended.
  clock.at = start + 70 * minute;
  await take(5);
  expect(await one.quota('key', rule)).toMatchObject({ left: 65, resetsAt: at(start + 110 * minute) });
  // The window of the token starts over within the hour.
  clock.at = start + 111 * minute;
  await take(1);
  expect(await one.quota('key', rule)).toMatchObject({ left: 94, resetsAt: at(start + 2 * hour) });
});

test('budgets: of many tokens, those without a request or a block for a day are forgotten', async () => {
  for (const [later, isKept] of [
    [day, [true, true]],
    [day + 1, [false, true]],
    [day + hour, [false, true]],
    [day + hour + 1, [false, false]],
  ] as const) {
    const { one, clock, take, left } = stage();
    for (let number = 0; number < 63; number += 1) await take(1, `token ${number}`);
    await one.block('blocked', rule, hour, false);
    clock.at = start + later;
    await take(1, 'new');
    expect([left('token 7').length > 0, left('blocked').length > 0]).toEqual(isKept);
  }
});

test('budgets: a token has the same digest in every version', () => {
  expect(digestOf('secret')).toBe('2bb80d537b1da3e38bd30361aa855686');
});

test('budgets: of many tokens, one that has not sent a request yet is kept', async () => {
  const { one, clock, take, left } = stage();
  for (let number = 0; number < 63; number += 1) await take(1, `token ${number}`);
  await one.quota('asked', rule);
  clock.at = start + day + 1;
  await take(1, 'new');
  expect(['token 7', 'asked'].map((key) => left(key).length)).toEqual([0, 2]);
});

test('budgets: of many tokens, one whose count is being read again is kept', async () => {
  const store = shared();
  const { one, clock, take, left } = stage(store);
  for (let number = 0; number < 64; number += 1) await take(1, `token ${number}`);
  let respond = () => {};
  store.load = () =>
    new Promise((resolve) => {
      respond = () => resolve(null);
    });
  const refreshed = one.refresh('token 7', rule);
  await Promise.resolve();
  store.load = async () => null;
  clock.at = start + day + 1;
  await take(1, 'new');
  expect(['token 7', 'token 8'].map((key) => left(key).length)).toEqual([2, 0]);
  respond();
  await refreshed;
});

test('budgets: a token is kept for a day after the hour in which it was used began', async () => {
  for (const [later, isKept] of [
    [day, true],
    [day + 1, false],
  ] as const) {
    const { clock, take, left } = stage();
    for (let number = 0; number < 64; number += 1) {
      clock.at = start - minute;
      await take(1, `token ${number}`);
      clock.at = start + 30 * minute;
      await take(1, `token ${number}`);
    }
    clock.at = start + later;
    await take(1, 'new');
    expect(left('token 7').length > 0).toBe(isKept);
  }
});

test('budgets: a swap that another process wins is repeated without a warning', async () => {
  const store = shared();
  const { take, left, warned } = stage(store);
  await take();
  store.held = {
    windowStart: start,
    spent: 31,
    blockedUntil: null,
    fixed: { windowStart: start, spent: 41 },
  };
  await take();
  expect([left(), warned]).toEqual([[68, 58], []]);
});

test('budgets: a 429 that another process got spends the count of the hour here as well', async () => {
  const store = shared();
  const { one, take, left } = stage(store);
  await take();
  const blockedUntil = start + 20 * minute;
  const windowStart = blockedUntil - hour - settleMillis;
  store.held = { windowStart, spent: 100, blockedUntil, fixed: { windowStart, spent: 100 } };
  await one.refresh('key', rule);
  expect(left()).toEqual([0, 0]);
});

test('budgets: a block is stored although enough requests are stored ahead', async () => {
  const { one, take, saved } = stage();
  await take();
  await one.block('key', rule, minute, false);
  expect(saved.map(({ blockedUntil }) => blockedUntil)).toEqual([null, start + minute]);
});

test('budgets: the one count that an earlier version stored is that of the hour if its window began in it', async () => {
  for (const [windowStart, expected] of [
    [start, [95, 95]],
    [start - 1, [95, 100]],
  ] as const) {
    const { one, left } = stage({ load: async () => ({ windowStart, spent: 5, blockedUntil: null }) });
    await one.quota('key', rule);
    expect(left()).toEqual(expected);
  }
});

test('budgets: a new hour is stored although enough requests are stored ahead', async () => {
  const { clock, take, saved } = stage();
  clock.at = start + 50 * minute;
  await take();
  clock.at = start + hour + 5 * minute;
  await take();
  expect(saved.map(({ fixed }) => fixed?.windowStart)).toEqual([start, start + hour]);
});

test('budgets: all requests of a window that a process of an earlier version began count in the hour', async () => {
  const store = shared();
  const { one, clock, take, left } = stage(store);
  await take(60);
  clock.at = start + 30 * minute;
  store.held = { windowStart: start + 20 * minute, spent: 25, blockedUntil: null };
  await one.refresh('key', rule);
  expect(left()).toEqual([75, 15]);
});
