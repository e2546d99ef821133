import { describe, expect, test } from 'vitest';
import {
  addressRule,
  type BudgetState,
  block,
  remaining,
  spend,
  spendAnyway,
  tokenEndpointRule,
  tokenRule,
} from '../../src/client/budget.js';
import fc from '../support/property.js';

const hour = 3_600_000;
const rule = tokenRule(100);
const start = 1_000 * hour;
const settleMillis = 2_000;
/** When a window that began at `start` has surely ended on the platform as well: two seconds later. */
const over = start + hour + settleMillis;

function spent(count: number, windowStart = start, blockedUntil: number | null = null): BudgetState {
  return { windowStart, spent: count, blockedUntil };
}

describe('budget: the rules', () => {
  test('budget: a token has 1,000 requests an hour, 50 of them reserved for webhooks', () => {
    expect(tokenRule()).toEqual({ limit: 1000, windowMillis: hour, reserve: 50 });
  });

  test('budget: a small budget reserves 20 requests, a tiny one leaves at least one for routine work', () => {
    expect(tokenRule(100).reserve).toBe(20);
    expect(tokenRule(5).reserve).toBe(4);
  });

  test('budget: the token endpoint has 60 requests an hour and no reserve', () => {
    expect(tokenEndpointRule).toEqual({ limit: 60, windowMillis: hour, reserve: 0 });
  });
});

describe('budget: one request', () => {
  test.each([
    ['the first request opens a window', null, start, 'routine', { granted: spent(1) }],
    ['another request is counted', spent(7), start + 1, 'routine', { granted: spent(8) }],
    ['routine work stops at the reserve', spent(80), start + 1, 'routine', { until: over }],
    ['a webhook may use the reserve', spent(80), start + 1, 'webhook', { granted: spent(81) }],
    ['a webhook stops at the limit', spent(100), start + 1, 'webhook', { until: over }],
    [
      'the last moment of a window belongs to it, and so does the time until it has surely ended',
      spent(100),
      over - 1,
      'webhook',
      { until: over },
    ],
    ['the next moment opens another window', spent(100), over, 'routine', { granted: spent(1, over) }],
    [
      'a block rejects every request',
      spent(1, start, start + 500),
      start + 499,
      'webhook',
      { until: start + 500 },
    ],
    ['a block ends', spent(1, start, start + 500), start + 500, 'routine', { granted: spent(2) }],
    [
      'a block outlasts its window',
      spent(1, start, start + hour + 500),
      start + hour + 499,
      'routine',
      { until: start + hour + 500 },
    ],
    [
      'a block longer than a window was stored under another clock',
      spent(1, start, start + 9 * hour),
      start + 1,
      'routine',
      { granted: spent(2) },
    ],
    [
      'a clock that was set back drops no request',
      spent(99, start),
      start - 5 * hour,
      'webhook',
      { granted: spent(100, start - 5 * hour) },
    ],
    [
      'a clock that was set back frees the token an hour later, not five',
      spent(100, start),
      start - 5 * hour,
      'webhook',
      { until: start - 4 * hour + settleMillis },
    ],
  ] as const)('budget: %s', (_, state, now, urgency, expected) => {
    const spending = spend(state, rule, now, urgency);
    expect(spending).toMatchObject(
      'until' in expected
        ? { kind: 'refused', until: expected.until }
        : { kind: 'granted', state: expected.granted },
    );
  });

  test('budget: a window that a wrong clock put into the future ends an hour after it was seen, however often it is checked', () => {
    let state = spent(100, start + 30 * 24 * hour);
    for (const minute of [0, 20, 40, 59]) {
      const spending = spend(state, rule, start + (minute * hour) / 60, 'webhook');
      expect(spending).toMatchObject({ kind: 'refused', until: over });
      state = spending.state;
    }
    expect(spend(state, rule, over, 'routine')).toMatchObject({ kind: 'granted' });
  });

  test('budget: a refusal that changes nothing returns the same state', () => {
    const state = spent(100);
    for (const now of [start, start + 1]) expect(spend(state, rule, now, 'webhook').state).toBe(state);
  });

  test('RATE-11 budget: a 429 of this limit starts the next window when the platform says', () => {
    const now = start + 10;
    const state = block(spent(40), rule, now, 600_000, true);
    expect(spend(state, rule, now + 599_999, 'webhook')).toMatchObject({
      kind: 'refused',
      until: now + 600_000,
    });
    expect(spend(state, rule, now + 600_000, 'routine')).toEqual({
      kind: 'granted',
      state: spent(1, now + 600_000),
    });
  });

  test('budget: requests near the end of a window count in the next one too', () => {
    const end = start + hour;
    const early = spendAnyway(spent(40), rule, end - settleMillis - 1, 3);
    const late = spendAnyway(spendAnyway(early, rule, end - settleMillis, 5), rule, over - 1, 7);
    expect(late).toMatchObject({ windowStart: start, spent: 55, late: 12 });
    expect(spend(late, rule, over, 'routine')).toMatchObject({ state: { windowStart: over, spent: 13 } });
    expect(spend(late, rule, over + hour, 'routine')).toMatchObject({ state: { spent: 1 } });
  });

  test('budget: windows with a fixed phase begin at it and its multiples, whenever the first request is', () => {
    const fixed = { ...rule, phase: 10 * 60_000 };
    const state = spendAnyway(null, fixed, start + hour / 2, 1);
    expect(state.windowStart).toBe(start + 10 * 60_000);
    const next = spendAnyway(state, fixed, start + 1.9 * hour, 1);
    expect(next).toMatchObject({ windowStart: start + hour + 10 * 60_000, spent: 1 });
  });

  test('RATE-02 budget: an address may send 5,000 requests an hour, and its limit is unknown where one token may send more', () => {
    expect(addressRule(1000)).toMatchObject({ limit: 5000, windowMillis: hour });
    expect(addressRule(5000)).toMatchObject({ limit: 5000 });
    expect(addressRule(10_000)).toBeNull();
  });

  test('budget: a 429 with a shorter wait does not end a longer one', () => {
    const state = block(block(spent(40), rule, start, 265_000, false), rule, start + 1000, 3000, false);
    expect(spend(state, rule, start + 264_999, 'webhook')).toMatchObject({ until: start + 265_000 });
    expect(spend(state, rule, start + 265_000, 'webhook')).toMatchObject({ kind: 'granted' });
  });

  test('budget: a 429 blocks for a window at most', () => {
    const state = block(spent(40), rule, start, 2 * hour, false);
    for (const now of [start, start + hour - 1])
      expect(spend(state, rule, now, 'webhook')).toMatchObject({ kind: 'refused', until: start + hour });
    expect(spend(state, rule, start + hour, 'webhook')).toMatchObject({ kind: 'granted' });
  });

  test.each([
    ['a new budget is whole for a window from now', null, { left: 100, resetsAt: over }],
    ['a window has what was not sent in it', spent(30), { left: 70, resetsAt: over }],
    ['a window has nothing when others sent more than the limit', spent(130), { left: 0, resetsAt: over }],
    ['a block leaves nothing until it ends', spent(30, start, start + 5), { left: 0, resetsAt: start + 5 }],
    ['a spent window outlasts a block', spent(100, start, start + 5), { left: 0, resetsAt: over }],
    [
      'a block outlasts a spent window',
      spent(100, start - hour, start + 5_000),
      { left: 0, resetsAt: start + 5_000 },
    ],
  ] as const)('budget: %s', (_, state, left) => {
    expect(remaining(state, rule, start)).toEqual(left);
  });

  test('budget: a 429 of another limit leaves the count unchanged', () => {
    const state = block(spent(40), rule, start + 10, 1000, false);
    expect(spend(state, rule, start + 1010, 'routine')).toEqual({ kind: 'granted', state: spent(41) });
  });
});

test('RATE-15 budget: for any sequence of requests, no window exceeds the limit and a blocked window sends nothing', () => {
  const step = fc.record({
    after: fc.nat({ max: hour / 2 }),
    asks: fc.nat({ max: 30 }),
    urgency: fc.constantFrom('routine' as const, 'webhook' as const),
    told: fc.option(fc.record({ wait: fc.integer({ min: 1000, max: hour }), ranOut: fc.boolean() })),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let state: BudgetState | null = null;
      let now = start;
      let forbiddenUntil = 0;
      const windows = new Map<number, { all: number; routine: number }>();
      for (const { after, asks, urgency, told } of steps) {
        now += after;
        for (let ask = 0; ask < asks; ask += 1) {
          const spending = spend(state, rule, now, urgency);
          if (spending.kind === 'refused') {
            expect(spending.until).toBeGreaterThan(now);
            continue;
          }
          expect(now).toBeGreaterThanOrEqual(forbiddenUntil);
          state = spending.state;
          const window = windows.get(state.windowStart) ?? { all: 0, routine: 0 };
          window.all += 1;
          if (urgency === 'routine') window.routine += 1;
          windows.set(state.windowStart, window);
        }
        if (told !== null) {
          state = block(state, rule, now, told.wait, told.ranOut);
          forbiddenUntil = now + told.wait;
        }
      }
      for (const { all, routine } of windows.values()) {
        expect(all).toBeLessThanOrEqual(rule.limit);
        expect(routine).toBeLessThanOrEqual(rule.limit - rule.reserve);
      }
      const starts = [...windows.keys()].sort((a, b) => a - b);
      for (const [index, at] of starts.entries()) {
        const next = starts[index + 1];
        // Only the platform can end a window early, and it then names the start of the next one.
        if (next !== undefined) expect(next).toBeGreaterThan(at);
      }
    }),
    { numRuns: 300 },
  );
});
