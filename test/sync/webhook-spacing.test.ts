import { describe, expect, test } from 'vitest';
import { type SharedBudget, waitAfter, webhookSpacing } from '../../src/sync/webhook-spacing.js';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const budget = (left: number, resetsInMillis: number, set: Partial<SharedBudget> = {}): SharedBudget => ({
  key: 'token:1',
  kind: 'token',
  limit: 1000,
  sharing: 1,
  elsewhere: 0,
  left,
  resetsInMillis,
  ...set,
});

describe('webhook spacing: the gap for what is left, and for how long', () => {
  test.each([
    ['no limit is known: no gap', [], 0, 'plenty'],
    ['a fresh hour', [budget(1000, hour)], 0, 'plenty'],
    ['a third of it left', [budget(334, hour)], 0, 'plenty'],
    ['one below a third: a fraction of the even spread', [budget(333, hour)], 54, 'scarce'],
    ['three tenths left', [budget(300, hour)], 5_691, 'scarce'],
    ['a quarter left', [budget(250, hour)], 15_681, 'scarce'],
    ['a quarter left for half an hour: half the gap', [budget(250, hour / 2)], 7_841, 'scarce'],
    ['a tenth left', [budget(100, hour)], 64_349, 'scarce'],
    ['a tenth left for the last minute', [budget(100, minute)], 1_072, 'scarce'],
    ['only the reserve left: all of it is for webhooks', [budget(50, hour)], 69_030, 'scarce'],
    ['the last request waits for half of the time', [budget(1, minute)], 30_000, 'scarce'],
    ['nothing left: until the window ends', [budget(0, 20 * minute)], 20 * minute, 'spent'],
    ['nothing left, and the window has ended', [budget(0, -5)], 0, 'spent'],
    ['the window has just ended', [budget(100, 0)], 0, 'scarce'],
    ['two sources share it: each half as often', [budget(300, hour, { sharing: 2 })], 11_364, 'scarce'],
    [
      'three sources share it, two of them on other hosts: each a third as often',
      [budget(300, hour, { elsewhere: 2 })],
      17_019,
      'scarce',
    ],
    [
      'a source that others report while none here uses webhooks counts once',
      [budget(300, hour, { sharing: 0, elsewhere: 1 })],
      5_691,
      'scarce',
    ],
    ['others cost nothing while there is plenty', [budget(400, hour, { elsewhere: 9 })], 0, 'plenty'],
    ['nothing left, however many share it', [budget(0, minute, { elsewhere: 9 })], minute, 'spent'],
    ['sharing costs nothing while there is plenty', [budget(400, hour, { sharing: 9 })], 0, 'plenty'],
    ['a small limit', [budget(20, hour, { limit: 100 })], 266_667, 'scarce'],
    [
      'of two limits the tighter one decides',
      [budget(900, hour), budget(100, minute, { key: 'address', kind: 'address', limit: 5000 })],
      592,
      'scarce',
    ],
    [
      'a limit with plenty does not hide one that is spent',
      [budget(0, minute), budget(4000, hour, { key: 'address', kind: 'address', limit: 5000 })],
      minute,
      'spent',
    ],
  ] as const)('webhook spacing: %s', (_, budgets, gapMillis, reason) => {
    const spacing = webhookSpacing(budgets);
    expect({ gap: Math.round(spacing.gapMillis), reason: spacing.reason }).toEqual({
      gap: gapMillis,
      reason,
    });
  });

  test('webhook spacing: the limit that decides is named', () => {
    const address = budget(100, minute, { key: 'address', kind: 'address', limit: 5000 });
    expect(webhookSpacing([budget(900, hour), address]).by).toMatchObject({ kind: 'address', left: 100 });
    expect(webhookSpacing([]).by).toBeNull();
  });
});

test.each([
  ['just now', 0, 15_681],
  ['a second ago', 1_000, 14_686],
  ['a minute ago', minute, 0],
  ['never', Number.POSITIVE_INFINITY, 0],
])('webhook spacing: the wait when the last tick was %s', (_, elapsed, wait) => {
  const at = (left: number) => webhookSpacing([budget(left, hour)]);
  expect(Math.round(waitAfter(at(250), elapsed))).toBe(wait);
  expect(waitAfter(at(600), elapsed)).toBe(0);
  expect(waitAfter(at(0), elapsed)).toBe(hour);
});

test('webhook spacing: a wait that was named once stays true while time passes and nothing is spent', () => {
  for (let passed = 0; passed <= 15_000; passed += 1_000) {
    const wait = waitAfter(webhookSpacing([budget(250, hour - passed)]), passed);
    expect(Math.round(wait + passed)).toBe(15_681);
  }
});

/** Returns when the ticks of `sources` run in one window, if each has a change to read all the time. */
function hourOf(sources: number, limit = 1000, knowsOthers = true): readonly number[] {
  const ticks: number[] = [];
  const last = Array<number>(sources).fill(Number.NEGATIVE_INFINITY);
  for (let now = 0; now < hour; now += 50) {
    for (let source = 0; source < sources; source += 1) {
      const left = limit - ticks.length;
      const { gapMillis } = webhookSpacing([
        budget(left, hour - now, { limit, sharing: knowsOthers ? sources : 1 }),
      ]);
      if (left === 0 || now - (last[source] ?? 0) < gapMillis) continue;
      last[source] = now;
      ticks.push(now);
    }
  }
  return ticks;
}

test.each([
  ['one source', 1, 1000],
  ['five sources', 5, 1000],
  ['one source with a small quota', 1, 60],
])(
  'webhook spacing: under changes without end, the quota of %s lasts until its window ends',
  (_, sources, limit) => {
    const ticks = hourOf(sources, limit);
    // The last request may be used once half of the remaining time has passed since the one before.
    expect(ticks.filter((at) => at < 0.9 * hour).length).toBeLessThan(limit);
    expect(ticks.filter((at) => at < hour / 2).length).toBeLessThan(limit * 0.85);
    expect(ticks.length).toBeGreaterThan(limit * 0.9);
  },
);

test('webhook spacing: processes that know only the quota, not each other, keep a tenth of it for the second quarter', () => {
  const ticks = hourOf(5, 1000, false);
  expect(ticks.filter((at) => at < hour / 4).length).toBeLessThan(900);
  expect(ticks.filter((at) => at < hour / 2).length).toBeLessThan(1000);
});

test('webhook spacing: two thirds of the requests of an hour cost no wait, and then the wait grows without a jump', () => {
  const ticks = hourOf(1);
  const gaps = ticks.slice(1).map((at, index) => at - (ticks[index] ?? 0));
  expect(Math.max(...gaps.slice(0, 665))).toBe(50);
  expect(Math.max(...gaps)).toBeLessThan(20 * second);
  const jumps = gaps.slice(1).map((gap, index) => gap - (gaps[index] ?? 0));
  expect(Math.max(...jumps)).toBeLessThan(300);
});
