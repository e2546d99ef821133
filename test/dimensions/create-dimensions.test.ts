import { expect, onTestFinished, test } from 'vitest';
import { createDimensions } from '../../src/dimensions/create-dimensions.js';
import type { SourceParts } from '../../src/dimensions/listing-plan.js';
import {
  type CollectionName,
  collectionNames,
  type Differences,
  type DimensionStore,
  type Found,
  type Listing,
  type RoundLabels,
} from '../../src/dimensions/ports.js';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import { type Instant, instantFromMillis } from '../../src/domain/instant.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { company, offering, stats, updates } from './samples.js';

const acme = 'acme' as SourceName;
const dayMillis = 86_400_000;
const hourMillis = 3_600_000;
const none: Differences = { added: 0, changed: 0, removed: 0 };

interface Wish {
  /** Each answer waits for it. */
  readonly held?: Promise<void>;
  /** How long each answer takes. */
  readonly answerMillis?: number;
  readonly listedAt?: Instant;
  /** When an event of a round was accepted. */
  readonly touchedAt?: Instant;
  /** Thrown instead of the next answers. */
  readonly faults?: Fault[];
  /** What the investments of the round say of it, one after the other. The platform then does not serve it. */
  readonly labels?: RoundLabels[];
}

const noLabels: RoundLabels = { investmentType: null, offeringType: null, firstAppliedAt: null };

/** One source on a clock that stands still, with a platform of one company and its round. */
function world({ listedAt, touchedAt, faults = [], held, answerMillis = 0, labels }: Wish = {}) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  /** When each listing began. */
  const begunAt: number[] = [];
  const differences: (typeof none)[] = [];
  const applied: Listing[][] = [];
  let attempt = 0;
  const store: DimensionStore = {
    state: async () => ({
      listedAt: new Map(
        listedAt === undefined
          ? []
          : collectionNames.map((name): [CollectionName, Instant] => [name, listedAt]),
      ),
      names: { companies: new Map(), rounds: new Map(listedAt === undefined ? [] : [['ofr_1', 'A']]) },
    }),
    touchedAt: async () => touchedAt ?? null,
    begin: async () => {
      attempt += 1;
      begunAt.push(clock.monotonic());
      const investedRounds = labels === undefined ? [] : [{ id: 'ofr_1', companyId: 'co_1', currency: null }];
      return { attempt, investedRounds, stored: new Map() };
    },
    labelsOf: async () => labels?.shift() ?? noLabels,
    apply: async (_, __, listings) => {
      applied.push([...listings]);
      return differences.shift() ?? none;
    },
  };
  const answers: Readonly<Record<string, unknown>> = {
    '/companies/{id}': company({
      current_raise: null,
      ...(labels === undefined ? {} : { service_rounds: [] }),
    }),
    '/offerings/{external_id}': offering('ofr_1'),
    '/offerings/{offering_id}/stats': stats('ofr_1'),
    '/companies/{id}/updates': updates([]),
  };
  const source: SourceParts = {
    name: acme,
    company: 'co_1',
    offering: null,
    isPersonal: false,
    catalog: {
      look: async ({ path }, signal): Promise<Found> => {
        asked.push(path);
        await held;
        await clock.wait(answerMillis);
        if (signal.aborted) throw new Fault('stopped', 'stopped before the end');
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        if (labels !== undefined && path === '/offerings/{external_id}')
          return { kind: 'unavailable', reason: '403 insufficient_scope', forbidden: true };
        return { kind: 'found', body: answers[path] };
      },
    },
  };
  const named: SourceName[] = [];
  const dimensions = createDimensions({
    sources: [source],
    store,
    onNames: (source) => void named.push(source),
    clock,
    random: { bytes: (count) => Buffer.alloc(count), fraction: () => 0.5 },
    logger: silentLogger,
    intervalMillis: dayMillis,
  });
  onTestFinished(() => dimensions.close());
  const tick = async (isComplete = true) => {
    dimensions.ticked(acme, isComplete);
    await settled();
    await dimensions.idle();
  };
  /** Ticks every three minutes for so long, as an idle daemon does. */
  const pass = async (millis: number) => {
    for (let passed = 0; passed < millis; passed += 180_000) {
      await clock.advance(180_000);
      await tick();
    }
  };
  const taken = () => asked.splice(0).length;
  /** Returns the seconds from each listing to the next one. */
  const gaps = () => begunAt.slice(1).map((at, index) => (at - (begunAt[index] ?? 0)) / 1000);
  return { clock, dimensions, source, applied, differences, named, tick, pass, taken, gaps };
}

/** The company, its one round, the stats of it and a page of posts. */
const whole = 4;

test('nothing is listed before the first complete tick of the source', async () => {
  const { tick, taken } = world();
  await tick(false);
  expect(taken()).toBe(0);
  await tick();
  expect(taken()).toBe(whole);
});

test('a listing that changed something is reported, and one that changed nothing is not', async () => {
  const { dimensions, applied, differences } = world();
  const changed: string[] = [];
  const off = dimensions.onChanged((source) => changed.push(source));
  const list = () => dimensions.refresh(acme, true);
  await list();
  differences.push({ ...none, changed: 1 });
  await list();
  off();
  differences.push({ ...none, added: 1 });
  await list();
  expect([applied.length, changed]).toEqual([3, ['acme']]);
});

test('a listing that finds no difference reads the names again: another process may have stored them', async () => {
  const { dimensions, named } = world();
  await dimensions.refresh(acme, true);
  const before = named.length;
  await dimensions.refresh(acme, true);
  // Once for what is stored when it begins, and once for what is stored when it has ended.
  expect(named.slice(before)).toEqual([acme, acme]);
});

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

test('an event that was accepted right before the process died is listed for after the restart', async () => {
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
});

test('an event about a round lists companies, rounds and stats, not the posts', async () => {
  const { tick, dimensions, applied, taken } = world();
  await tick();
  taken();
  dimensions.touched(acme, 'offering.closed');
  dimensions.touched(acme, 'offering.closed');
  await settled();
  await dimensions.idle();
  expect(taken()).toBe(whole - 1);
  expect(applied.at(-1)?.map(({ collection }) => collection.name)).toEqual([
    'companies',
    'rounds',
    'round_stats',
  ]);
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

test('an unknown round is listed after the tick that brought its investment, once', async () => {
  const { tick, dimensions, taken } = world();
  await tick();
  taken();
  dimensions.invested(acme, ['ofr_1']);
  await tick();
  expect(taken()).toBe(0);
  dimensions.invested(acme, ['ofr_1', 'ofr_2']);
  dimensions.invested(acme, ['ofr_2']);
  await tick();
  expect(taken()).toBe(whole - 1);
  await tick();
  expect(taken()).toBe(0);
});

test('an investment that arrives before the first listing asks for others only if its round is unknown', async () => {
  for (const [round, expected] of [
    ['ofr_1', 0],
    ['ofr_2', 2 * (whole - 1)],
  ] as const) {
    const { dimensions, tick, taken } = world({
      listedAt: instantFromMillis(Date.parse('2026-11-01T00:00:00Z')),
    });
    dimensions.invested(acme, [round]);
    await tick();
    expect(taken(), round).toBe(expected);
  }
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

test('an unknown round whose investments are gone is listed for a few times, not for ever', async () => {
  const { tick, pass, dimensions, taken } = world();
  await tick();
  taken();
  dimensions.invested(acme, ['ofr_gone']);
  await pass(6 * hourMillis);
  expect(taken()).toBe(5 * (whole - 1));
  dimensions.invested(acme, ['ofr_gone']);
  await tick();
  expect(taken()).toBeGreaterThan(0);
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

test('remove: ends the running listing, and neither ticks nor events list the source again', async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const { dimensions, clock, taken } = world({ held });
  dimensions.ticked(acme, true);
  await settled();
  let isRemoved = false;
  const removed = dimensions.remove(acme).then(() => {
    isRemoved = true;
  });
  await settled();
  expect(isRemoved).toBe(false);
  go();
  await removed;
  expect(taken()).toBeLessThan(whole);
  dimensions.ticked(acme, true);
  dimensions.touched(acme, 'offering.updated');
  await clock.advance(2 * dayMillis);
  expect(taken()).toBe(0);
});

test('add: a source that is added is listed after its first complete tick, and refused twice', async () => {
  const { dimensions, source, tick, taken } = world();
  await tick();
  expect(taken()).toBe(whole);
  await dimensions.remove(acme);
  dimensions.add(source);
  expect(taken()).toBe(0);
  await tick();
  expect(taken()).toBe(whole);
  expect(() => dimensions.add(source)).toThrow('two sources are called acme');
});

test('remove: a source that waits for its turn is removed without waiting for the others', async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const { dimensions, source } = world({ held });
  const beta = 'beta' as SourceName;
  dimensions.add({ ...source, name: beta });
  dimensions.ticked(acme, true);
  dimensions.ticked(beta, true);
  await settled();
  await dimensions.remove(beta);
  go();
});

test('an event about a round is listed for before sources that were never listed, which still get every other turn', async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const { dimensions, source } = world({ held });
  const begun: string[] = [];
  const names = ['acme', 'b', 'c', 'd', 'touched', 'e', 'touched too', 'f'] as SourceName[];
  for (const name of names) {
    const catalog: SourceParts['catalog'] = {
      look: (lookup, signal) => {
        if (lookup.path === '/companies/{id}') begun.push(name);
        return source.catalog.look(lookup, signal);
      },
    };
    if (name === acme) await dimensions.remove(acme);
    dimensions.add({ ...source, name, catalog });
    dimensions.ticked(name, true);
  }
  await settled();
  expect(begun).toEqual(['acme']);
  for (const name of names)
    if (name.startsWith('touched')) dimensions.touched(name, 'offering.closed');
    else dimensions.touched(name, 'investment.changed');
  await settled();
  go();
  await dimensions.idle();
  expect(begun).toEqual(['acme', 'touched', 'b', 'touched too', 'c', 'd', 'e', 'f']);
  // Its event was worked.
  await Promise.all((['b', 'c', 'touched'] as SourceName[]).map((name) => dimensions.refresh(name, true)));
  expect(begun.slice(names.length)).toEqual(['b', 'c', 'touched']);
});

test('a round whose investments were just removed has the name of later ones, and then keeps it', async () => {
  const safe = { investmentType: 'safe', offeringType: 'regd', firstAppliedAt: '2026-05-01T00:00:00.000Z' };
  const { tick, pass, applied } = world({ labels: [noLabels, safe, { ...safe, investmentType: 'equity' }] });
  await tick();
  await pass(2 * dayMillis + hourMillis);
  const names = applied
    .flat()
    .flatMap((listing) =>
      listing.kind === 'complete' && listing.collection.name === 'rounds'
        ? listing.rows.map(({ name }) => name)
        : [],
    );
  expect(names).toEqual(['Round', 'regd safe 2026', 'regd safe 2026']);
});
