import { expect, test } from 'vitest';
import { arrivals, arrivalsWithin } from './arrivals.js';
import { statusOf } from './deliveries.js';
import { quantile, ratio, times } from './measures.js';
import { ordered } from './sections/sequence.js';
import { figuresOf } from './sections/stalls.js';

const first = (count: number, seed: number, perSecond: number, sources: number) => {
  const endless = arrivals(seed, perSecond, sources);
  return times(count).map(() => endless.next().value);
};

test('bench percentiles: of a hundred values the median is the 51st and the p99 the hundredth', () => {
  const values = times(100)
    .map((at) => at + 1)
    .toReversed();
  expect([quantile(values, 0.5), quantile(values, 0.99), quantile(values, 0)]).toEqual([51, 100, 1]);
  expect(quantile([7], 0.99)).toBe(7);
  expect(quantile([], 0.5)).toBeNaN();
});

test('bench ratios are computed round by round, and their median is reported', () => {
  const { value, low, high } = ratio('÷', [10, 30, 100], [10, 10, 20]);
  expect([low, value, high]).toEqual([1, 3, 5]);
});

test('bench arrivals: the same seed gives the same changes, another seed others', () => {
  expect(first(50, 7, 10, 3)).toEqual(first(50, 7, 10, 3));
  expect(first(50, 7, 10, 3)).not.toEqual(first(50, 8, 10, 3));
});

test('bench arrivals: gaps are exponential with the mean of the rate, and every source is chosen evenly', () => {
  const count = 20_000;
  const found = first(count, 1, 10, 4);
  const gaps = found.map(({ atMillis }, at) => atMillis - (found[at - 1]?.atMillis ?? 0));
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / count;
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
  expect(mean).toBeCloseTo(100, -1);
  // An exponential gap is longer than the mean with a chance of 1/e, and longer than three means with 1/e³.
  expect(gaps.filter((gap) => gap > 100).length / count).toBeCloseTo(Math.exp(-1), 2);
  expect(gaps.filter((gap) => gap > 300).length / count).toBeCloseTo(Math.exp(-3), 2);
  for (const source of times(4))
    expect(found.filter((one) => one.source === source).length / count).toBeCloseTo(0.25, 1);
});

test('bench arrivals: those within some seconds end there, and there is always one', () => {
  const within = [...arrivalsWithin(5, 3, 20, 2)];
  expect(within.length).toBeGreaterThan(50);
  expect(within.every(({ atMillis }) => atMillis < 5_000)).toBe(true);
  expect([...arrivalsWithin(0.001, 3, 0.01, 1)]).toHaveLength(1);
});

test('bench deliveries: a response has a status once its declared body is complete', () => {
  const head = 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 3\r\n';
  expect(statusOf(head)).toBeNull();
  expect(statusOf(`${head}\r\nab`)).toBeNull();
  expect(statusOf(`${head}\r\nabc`)).toBe(503);
  expect(statusOf('HTTP/1.1 202 Accepted\r\n\r\n')).toBe(202);
});

test('bench sequence: ten changes are shown one by one, the others in at most ten blocks that cover them all', () => {
  expect(ordered(times(4)).map(({ name, value }) => [name, value])).toEqual([
    ['change 1', 0],
    ['change 2', 1],
    ['change 3', 2],
    ['change 4', 3],
  ]);
  const blocks = ordered(times(400)).slice(10);
  expect(blocks).toHaveLength(10);
  expect(blocks[0]).toMatchObject({ name: 'changes 11 to 49', low: 10, high: 48 });
  expect(blocks.at(-1)).toMatchObject({ name: 'changes 362 to 400', low: 361, high: 399 });
});

const spans = [
  { phase: 'listing', from: 0, to: 100 },
  { phase: 'publishing', from: 100, to: 1_100 },
  { phase: 're-listing', from: 1_100, to: 1_200 },
  { phase: 'scrubbing', from: 1_200, to: 1_300 },
  { phase: 're-listing', from: 1_300, to: 1_400 },
] as const;
const change = { source: 1, status: 202 };
const changes = [
  { ...change, place: 1, madeAt: 50, answeredAt: 60 },
  { ...change, place: 2, madeAt: 90, answeredAt: 1_000 },
  { ...change, place: 3, madeAt: 1_150, answeredAt: 1_151, status: 503 },
  { ...change, place: 4, madeAt: 1_350, answeredAt: 1_360 },
];
const seen = [[70, 1_090, 1_190, 1_390]];

test('bench stalls: a change counts in every phase that it lasted into, and in one that met none the next', () => {
  const figures = figuresOf(spans, [], changes, seen);
  const of = (phase: keyof typeof figures) => {
    const { delivery, visible, refused, changes: count, seconds } = figures[phase];
    return [delivery, visible, refused, count, seconds];
  };
  expect(of('listing')).toEqual([910, 1_000, 0, 2, 0.1]);
  expect(of('publishing')).toEqual([910, 1_000, 0, 1, 1]);
  expect(of('re-listing')).toEqual([10, 40, 1, 2, 0.2]);
  expect(of('scrubbing')).toEqual([10, 40, 0, 0, 0.1]);
});

test('bench stalls: a turn of the event loop counts in the phase in which it ended, also if that came in parts', () => {
  const turns = [
    { endedAt: 99, millis: 7, processorMillis: 5 },
    { endedAt: 1_090, millis: 985, processorMillis: 20 },
    { endedAt: 1_150, millis: 4, processorMillis: 4 },
    { endedAt: 1_320, millis: 9, processorMillis: 1 },
  ];
  const figures = figuresOf(spans, turns, changes, seen);
  const of = ['listing', 'publishing', 're-listing', 'scrubbing'] as const;
  expect(of.map((phase) => figures[phase].turn)).toEqual([7, 985, 9, 2]);
  expect(of.map((phase) => figures[phase].processor)).toEqual([5, 20, 4, 0]);
});
