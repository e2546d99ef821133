import { describe, expect, test } from 'vitest';
import { type BudgetState, type StoredBudget, settleMillis } from '../../src/client/budget.js';
import { Budgets } from '../../src/client/budgets.js';
import { PlatformTime } from '../../src/client/platform-time.js';
import { silentLogger } from '../../src/runtime/logger.js';
import fc from '../support/property.js';

const hour = 3_600_000;
const start = Date.UTC(2026, 9, 20, 9);
const rule = { limit: 100, windowMillis: hour, reserve: 20 };
const { signal } = new AbortController();

function budgets(held: BudgetState | null, askTime: () => Promise<void> = async () => {}) {
  const clock = { at: start, now: () => clock.at, monotonic: () => clock.at, wait: async () => {} };
  const saved: StoredBudget[] = [];
  const store = {
    load: async () => saved.at(-1) ?? held,
    save: async (_key: string, state: StoredBudget) => void saved.push(state),
  };
  const open = () => new Budgets({ store, time: new PlatformTime(clock), logger: silentLogger, askTime });
  return { clock, saved, store, open };
}

/** A store that processes share, as compare-and-swap sees it. */
function sharedStore() {
  let held: StoredBudget | null = null;
  return {
    load: async () => held,
    save: async () => {},
    swap: async (_key: string, before: StoredBudget | null, after: StoredBudget) => {
      const isAsSeen =
        before === null
          ? held === null
          : before.windowStart === held?.windowStart &&
            before.spent === held.spent &&
            before.blockedUntil === held.blockedUntil;
      if (isAsSeen) held = after;
      return isAsSeen;
    },
  };
}

const missing = (what: string): never => {
  throw new Error(`no ${what}`);
};

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
      about: { retryAt: new Date(start + hour + settleMillis).toISOString() },
    });
  }
  clock.at = start + hour + settleMillis;
  await open().take('key', rule, 'routine', signal);
});

describe('budgets: whatever happened under wrong clocks, no token waits for more than an hour under right ones', () => {
  const month = 30 * 24 * hour;
  const step = fc.record({
    after: fc.nat({ max: 2 * hour }),
    /** How far the wall clock of the process is ahead. */
    ahead: fc.oneof(fc.constant(0), fc.integer({ min: -month, max: month })),
    asks: fc.nat({ max: 120 }),
    blocks: fc.constantFrom('no', 'this budget', 'another limit'),
    process: fc.nat({ max: 1 }),
    restarts: fc.boolean(),
  });

  test.each([
    ['one process', false],
    ['two that share a store', true],
  ])('budgets: no token of %s waits for more than an hour under right clocks', async (_, isShared) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        let at = start;
        const shared = sharedStore();
        const alone = budgets(null);
        const clocks = [0, 1].map(() => {
          const clock = { ahead: 0, now: () => at + clock.ahead, monotonic: () => at, wait: async () => {} };
          return clock;
        });
        const store = isShared ? shared : alone.store;
        const open = (process: number) => {
          const clock = clocks[isShared ? process : 0] ?? missing('clock');
          return new Budgets({
            store,
            time: new PlatformTime(clock),
            logger: silentLogger,
            askTime: async () => {},
          });
        };
        const processes = [open(0), open(1)];
        const one = (process: number) => processes[isShared ? process : 0] ?? missing('process');
        const isGranted = (process: number) =>
          one(process)
            .take('key', rule, 'routine', signal)
            .then(
              () => true,
              () => false,
            );
        for (const { after, ahead, asks, blocks, process, restarts } of steps) {
          at += after;
          const clock = clocks[isShared ? process : 0] ?? missing('clock');
          clock.ahead = ahead;
          for (let ask = 0; ask < asks; ask += 1) await isGranted(process);
          if (blocks !== 'no') await one(process).block('key', rule, hour / 2, blocks === 'this budget');
          if (restarts) processes[isShared ? process : 0] = open(process);
        }
        for (const clock of clocks) clock.ahead = 0;
        for (const process of [0, 1]) await isGranted(process);
        at += hour + settleMillis;
        expect([await isGranted(0), await isGranted(1)]).toEqual([true, true]);
      }),
      { numRuns: 300 },
    );
  });
});

test('budgets: tokens without a request for a day are forgotten, and one in use is not', async () => {
  const clock = { at: start, now: () => clock.at, monotonic: () => clock.at, wait: async () => {} };
  const store = { load: async () => null, save: async () => {} };
  const askTime = async () => {};
  const one = new Budgets({ store, time: new PlatformTime(clock), logger: silentLogger, askTime });
  const known = (key: string) => one.left(key, rule).length > 0;
  for (let refresh = 0; refresh < 500; refresh += 1) {
    await one.take('used', rule, 'webhook', signal);
    await one.take(`token ${refresh}`, rule, 'routine', signal);
    clock.at += 0.1 * hour;
  }
  const kept = Array.from({ length: 500 }, (_, refresh) => known(`token ${refresh}`)).filter(Boolean).length;
  // Ten an hour: those of a day, and at most as many again before they are looked for.
  expect(kept).toBeGreaterThan(200);
  expect(kept).toBeLessThan(490);
  expect(['used', 'token 499', 'token 0'].map(known)).toEqual([true, true, false]);
});

test('budgets: repeated refusals write nothing', async () => {
  const { saved, open } = budgets({ windowStart: start, spent: 100, blockedUntil: null });
  const one = open();
  for (let times = 0; times < 3; times += 1)
    await expect(one.take('key', rule, 'webhook', signal)).rejects.toMatchObject({ code: 'rate_limited' });
  expect(saved).toEqual([]);
});

test('budgets: with shared budgets, a webhook does not wait for another request that asks for the time', async () => {
  let held: StoredBudget | null = { windowStart: start, spent: 85, blockedUntil: null };
  const store = {
    load: async () => held,
    save: async () => {},
    swap: async (_key: string, before: StoredBudget | null, after: StoredBudget) => {
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

describe('RATE-15 RATE-16 budgets: no window of the platform gets more than its limit', () => {
  /** How a platform may begin its windows, which its specification leaves open. */
  const platforms: Record<string, (now: number, windowStart: number) => number> = {
    'windows that begin with a request': (now, windowStart) =>
      now >= windowStart + hour ? now : windowStart,
    'windows that begin with each hour': (now) => now - (now % hour),
  };
  const step = fc.record({
    after: fc.oneof(fc.nat({ max: 5_000 }), fc.nat({ max: hour / 2 })),
    asks: fc.nat({ max: 60 }),
    urgency: fc.constantFrom('routine' as const, 'webhook' as const),
    latency: fc.nat({ max: 900 }),
  });
  const skew = fc.integer({ min: -1_000, max: 1_000 });

  test.each(Object.entries(platforms))(
    'RATE-15 RATE-16 budgets: no window gets more than its limit where %s',
    async (_, windowAt) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 40 }),
          skew,
          fc.boolean(),
          async (steps, ahead, restarts) => {
            const { clock, open } = budgets(null);
            let one = open();
            let windowStart = Number.NEGATIVE_INFINITY;
            let spent = 0;
            let isSettled = true;
            for (const { after, asks, urgency, latency } of steps) {
              clock.at += after;
              const arrives = clock.at + ahead + latency;
              for (let ask = 0; ask < asks; ask += 1) {
                try {
                  await one.take('key', rule, urgency, signal);
                } catch {
                  break;
                }
                // What is sent so close to the end of a window counts in the next one too; a restart forgets that.
                isSettled = one
                  .left('key', rule)
                  .every(({ resetsInMillis }) => resetsInMillis > 2 * settleMillis);
                const window = windowAt(arrives, windowStart);
                spent = window === windowStart ? spent + 1 : 1;
                windowStart = window;
                expect(spent).toBeLessThanOrEqual(rule.limit);
              }
              if (restarts && isSettled) one = open();
            }
          },
        ),
        { numRuns: 300 },
      );
    },
  );

  test('a 429 says when windows begin, for all that follow', async () => {
    const { clock, open } = budgets(null);
    const one = open();
    clock.at = start + 5 * 60_000;
    await one.block('key', rule, 10 * 60_000, true);
    clock.at += 10 * 60_000;
    for (let taken = 0; taken < rule.limit; taken += 1) await one.take('key', rule, 'webhook', signal);
    clock.at = start + hour + 14 * 60_000;
    await expect(one.take('key', rule, 'webhook', signal)).rejects.toMatchObject({ code: 'rate_limited' });
    clock.at = start + hour + 15 * 60_000 + settleMillis;
    await one.take('key', rule, 'webhook', signal);
  });
});

test('budgets: requests that another process sent count in both kinds of windows', async () => {
  let held: StoredBudget | null = { windowStart: start - hour / 2, spent: 10, blockedUntil: null };
  const store = {
    load: async () => held,
    save: async () => {},
    swap: async (_key: string, before: StoredBudget | null, after: StoredBudget) => {
      const isAsSeen = before?.spent === held?.spent;
      if (isAsSeen) held = after;
      return isAsSeen;
    },
  };
  const clock = { now: () => start, monotonic: () => start, wait: async () => {} };
  const time = new PlatformTime(clock);
  const one = new Budgets({ store, time, logger: silentLogger, askTime: async () => {} });
  await one.take('key', rule, 'routine', signal);
  // Of the first window, which began in the hour before, nobody knows what was sent in this hour.
  expect(one.left('key', rule).map(({ left }) => left)).toEqual([89, 99]);
  // A process of an earlier version stores one count only.
  held = { windowStart: start - hour / 2, spent: 41, blockedUntil: null };
  await one.take('key', rule, 'routine', signal);
  expect(one.left('key', rule).map(({ left }) => left)).toEqual([58, 68]);
  held = { ...held, spent: 52, fixed: { windowStart: start, spent: 70 } };
  await one.take('key', rule, 'routine', signal);
  expect(one.left('key', rule).map(({ left }) => left)).toEqual([47, 29]);
});

test.each([
  ['after a restart', false],
  ['in a fleet', true],
])(
  'budgets: a fresh process counts what was sent since the hour began, although a window ended meanwhile (%s)',
  async (_, isShared) => {
    const alone = budgets(null);
    const { clock } = alone;
    const common = { time: new PlatformTime(clock), logger: silentLogger, askTime: async () => {} };
    const store = sharedStore();
    const open = isShared ? () => new Budgets({ ...common, store }) : alone.open;
    const one = open();
    // The first window begins at half past eight, the next one at half past nine.
    clock.at = start - hour / 2;
    await one.take('key', rule, 'webhook', signal);
    clock.at = start + hour / 4;
    for (let request = 0; request < 60; request += 1) await one.take('key', rule, 'webhook', signal);
    clock.at = start + hour / 2 + settleMillis;
    await one.take('key', rule, 'webhook', signal);
    const other = open();
    let sent = 0;
    for (let request = 0; request < 100; request += 1)
      await other.take('key', rule, 'webhook', signal).then(
        () => {
          sent += 1;
        },
        () => {},
      );
    // A few requests are stored ahead where one process counts alone.
    expect(sent).toBeGreaterThanOrEqual(isShared ? 39 : 30);
    expect(sent).toBeLessThanOrEqual(39);
  },
);

test('budgets: a process whose clock is behind at the turn of the hour does not reset the count of the new one', async () => {
  const { clock } = budgets(null);
  const behind = { ...clock, at: 0, now: () => clock.at - 1_500, monotonic: () => clock.at - 1_500 };
  const store = sharedStore();
  const common = { store, logger: silentLogger, askTime: async () => {} };
  const [one, two] = [clock, behind].map((time) => new Budgets({ ...common, time: new PlatformTime(time) }));
  if (one === undefined || two === undefined) throw new Error('two were made');
  clock.at = start + hour - 10_000;
  await two.take('key', rule, 'webhook', signal);
  clock.at = start + hour + settleMillis;
  for (let request = 0; request < 10; request += 1) await one.take('key', rule, 'webhook', signal);
  await two.take('key', rule, 'webhook', signal);
  await one.take('key', rule, 'webhook', signal);
  const [, fixed] = one.left('key', rule);
  expect(fixed?.left).toBeLessThanOrEqual(rule.limit - 11);
});
