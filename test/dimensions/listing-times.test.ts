import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { settled } from '../sync/support/virtual-clock.js';
import { acme, dayMillis, hourMillis, whole, world } from './listing-world.js';

test('an idle source is listed once a day: four requests for a company with one round', async () => {
  const { tick, pass, taken } = world();
  await tick();
  expect(taken()).toBe(whole);
  await pass(dayMillis - hourMillis);
  expect(taken()).toBe(0);
  await pass(2 * hourMillis);
  expect(taken()).toBe(whole);
  await pass(10 * dayMillis);
  expect(taken()).toBe(10 * whole);
});

test('a process that restarts again and again does not list each time', async () => {
  const start = Date.parse('2026-11-01T00:00:00Z');
  const fresh = world({ listedAt: instantFromMillis(start - 60_000) });
  await fresh.tick();
  expect(fresh.taken()).toBe(0);
  await fresh.pass(dayMillis);
  expect(fresh.taken()).toBe(whole);
  const partly = world({ listedAt: instantFromMillis(start - 60_000), lacks: 'company_updates' });
  await partly.tick();
  expect(partly.taken()).toBe(whole);
  for (const [age, expected] of [
    [299_999, 0],
    [300_000, whole],
    [hourMillis, whole],
  ] as const) {
    const older = world({ listedAt: instantFromMillis(start - age) });
    await older.tick();
    expect(older.taken(), String(age)).toBe(expected);
  }
});

test('an event or an unknown round that arrived right before the process died is listed for after the restart', async () => {
  const start = Date.parse('2026-11-01T00:00:00Z');
  const listedAt = instantFromMillis(start - 120_000);
  const crashed = world({ listedAt, touchedAt: instantFromMillis(start - 110_000) });
  await crashed.tick();
  expect(crashed.taken()).toBe(whole);
  // A listing may have begun a minute before it ended.
  for (const [before, expected] of [
    [60_000, whole],
    [60_001, 0],
  ] as const) {
    const touchedAt = instantFromMillis(start - 120_000 - before);
    const settledBefore = world({ listedAt, touchedAt });
    await settledBefore.tick();
    expect(settledBefore.taken(), String(before)).toBe(expected);
  }
  const unknown = world({ listedAt, unlisted: ['ofr_2'] });
  await unknown.tick();
  // That listing lacks the round as well, so another one follows.
  expect(unknown.taken()).toBe(2 * (whole - 1));
});

test.each([0, 1_000])(
  'events that never stop are worked at growing intervals, and none is lost, where an answer takes %i ms',
  async (answerMillis) => {
    const { clock, dimensions, taken, gaps } = world({ answerMillis });
    dimensions.ticked(acme, true);
    await clock.advance(60_000);
    taken();
    for (let second = 0; second < 600; second += 1) {
      dimensions.touched(acme, 'offering.opened');
      await clock.advance(1_000);
    }
    await clock.advance(60_000);
    const waits = [4, 8, 16, 32, ...Array<number>(9).fill(60)];
    expect(gaps()).toEqual([60, ...waits.map((wait) => wait + (3 * answerMillis) / 1_000)]);
    taken();
    dimensions.touched(acme, 'offering.opened');
    await clock.advance(60_000);
    await dimensions.idle();
    expect(taken()).toBe(whole - 1);
  },
);

test('an event that arrives while the source waits is worked after the next complete tick', async () => {
  const { tick, dimensions, taken } = world();
  await tick();
  taken();
  await tick(false);
  dimensions.touched(acme, 'offering.closed');
  await settled();
  expect(taken()).toBe(0);
  await tick();
  expect(taken()).toBe(whole - 1);
});

test.each([
  [119_999, 1],
  [120_000, 2],
])('two events %i ms after a listing lead to %i at once', async (after, expected) => {
  const { clock, dimensions, tick, gaps } = world();
  await tick();
  await clock.advance(after);
  for (let event = 0; event < 2; event += 1) {
    dimensions.touched(acme, 'offering.closed');
    await settled();
  }
  expect(gaps()).toHaveLength(expected);
});

test('a failed listing is retried after a minute, and then at growing intervals of at most an hour', async () => {
  const faults = Array.from({ length: 20 }, () => new Fault('platform_error', '503'));
  const { clock, tick, pass, taken, applied, gaps } = world({ faults });
  await tick();
  expect(taken()).toBe(1);
  expect(applied.at(-1)?.map(({ kind }) => kind)).toEqual(Array(4).fill('incomplete'));
  await clock.advance(6 * hourMillis);
  expect(gaps()).toEqual([60, 120, 240, 480, 960, 1_920, ...Array(4).fill(3_600)]);
  taken();
  faults.length = 0;
  await pass(hourMillis + 180_000);
  expect(taken()).toBe(whole);
});

test('an event that arrives during a listing that fails is listed for no sooner than the listing is retried', async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const faults = [new Fault('platform_error', '503')];
  const { clock, dimensions, taken } = world({ held, faults });
  dimensions.ticked(acme, true);
  await settled();
  dimensions.touched(acme, 'offering.closed');
  go();
  await clock.advance(59_999);
  expect(taken()).toBe(1);
  await clock.advance(1);
  expect(taken()).toBe(whole);
});

test('what a listing that failed has not reached is listed again, and what it has reached is not', async () => {
  const { clock, tick, applied } = world({
    faults: [undefined, undefined, new Fault('platform_error', '503')],
  });
  await tick();
  await clock.advance(60_000);
  const names = applied.map((listings) =>
    listings.map(({ kind, collection }) => `${kind} ${collection.name}`),
  );
  expect(names).toEqual([
    ['complete companies', 'complete rounds', 'incomplete round_stats', 'incomplete company_updates'],
    ['complete round_stats', 'complete company_updates'],
  ]);
});

test('events that list the rounds again and again do not postpone the daily listing of posts', async () => {
  const { dimensions, pass, applied } = world();
  for (let hour = 0; hour < 26; hour += 1) {
    await pass(hourMillis);
    dimensions.touched(acme, 'offering.closed');
  }
  const posts = applied.flat().filter(({ collection }) => collection.name === 'company_updates');
  expect(posts).toHaveLength(2);
});

test.each<[string, Error, object[]]>([
  [
    'the database fails',
    new Fault('database_busy', 'locked'),
    [{ level: 'warn', fields: { source: acme, waitMs: 60_000, code: 'database_busy', hint: 'locked' } }],
  ],
  [
    'another process took the source',
    new Fault('lease_lost', 'taken'),
    [{ level: 'debug', fields: { source: acme, waitMs: 60_000, code: 'lease_lost', hint: 'taken' } }],
  ],
  [
    'the quota is used up',
    new Fault('rate_limited', 'wait'),
    [{ level: 'debug', fields: { source: acme, waitMs: 60_000, code: 'rate_limited', hint: 'wait' } }],
  ],
  [
    'of a bug',
    new TypeError('a bug'),
    [{ level: 'warn', fields: { source: acme, waitMs: 60_000, error: new TypeError('a bug') } }],
  ],
  ['the daemon stops', new Fault('stopped', 'stopped before the end'), []],
])(
  'a listing that fails because %s is logged once, and everything is listed a minute later',
  async (_, failure, lines) => {
    const { tick, pass, logged, applied, gaps } = world({ failures: [failure] });
    await tick();
    expect([logged, applied]).toEqual([lines, []]);
    await pass(180_000);
    expect([gaps(), applied.flat().length]).toEqual([[180], whole]);
  },
);

test('a listing without quota waits until the quota resets', async () => {
  const clock = Date.parse('2026-11-01T00:00:00Z');
  const retryAt = instantFromMillis(clock + 40 * 60_000);
  const { tick, pass, taken } = world({ faults: [new Fault('rate_limited', 'wait', { retryAt })] });
  await tick();
  expect(taken()).toBe(1);
  await pass(38 * 60_000);
  expect(taken()).toBe(0);
  await pass(6 * 60_000);
  expect(taken()).toBe(whole);
});
