import { expect, test } from 'vitest';
import type { SourceParts } from '../../src/dimensions/listing-plan.js';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { settled } from '../sync/support/virtual-clock.js';
import { acme, dayMillis, hourMillis, noLabels, none, whole, world } from './listing-world.js';

test('nothing is listed before the first complete tick of the source', async () => {
  const { tick, taken, named } = world();
  await tick(false);
  expect([taken(), named]).toEqual([0, []]);
  await tick();
  expect(taken()).toBe(whole);
  // What is stored is read when the first listing begins, and when it has ended.
  await tick();
  expect(named).toEqual([acme, acme]);
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

test('compare: what is not stored is missing, and a listing that fails compares nothing', async () => {
  const { dimensions, applied } = world({
    faults: [undefined, undefined, undefined, undefined, new Fault('platform_error', '503')],
  });
  expect(await dimensions.compare(acme)).toMatchObject({
    compared: 2,
    differences: [
      { kind: 'missing', collection: 'companies', id: 'co_1' },
      { kind: 'missing', collection: 'rounds', id: 'ofr_1' },
    ],
  });
  await expect(dimensions.compare(acme)).rejects.toMatchObject({ code: 'platform_error' });
  expect(applied).toEqual([]);
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

test('an event that concerns no company or round begins no listing, not even one that is due', async () => {
  const { clock, dimensions, tick, taken } = world();
  await tick();
  taken();
  await clock.advance(2 * dayMillis);
  dimensions.touched(acme, 'investment.changed');
  await settled();
  expect(taken()).toBe(0);
});

test('a source that was never added is neither listed, compared nor removed', async () => {
  const { dimensions, taken } = world();
  const other = 'other' as SourceName;
  await dimensions.refresh(other, true);
  await dimensions.remove(other);
  expect(await dimensions.compare(other)).toMatchObject({ compared: 0, differences: [] });
  expect(taken()).toBe(0);
});

test('compare: everything is due an interval after the oldest collection was listed, and at once if one never was', async () => {
  const start = Date.parse('2026-11-01T00:00:00Z');
  const listedAt = instantFromMillis(start - hourMillis);
  const due = async (wish: object) => (await world(wish).dimensions.compare(acme)).dueAt;
  expect(await due({ listedAt })).toBe(instantFromMillis(start - hourMillis + dayMillis));
  expect(await due({ listedAt: instantFromMillis(start - 2 * dayMillis) })).toBe(instantFromMillis(start));
  expect(await due({ listedAt, lacks: 'rounds' })).toBe(instantFromMillis(start));
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
  const { dimensions, source, named, gaps } = world({ held });
  const beta = 'beta' as SourceName;
  dimensions.add({ ...source, name: beta });
  dimensions.ticked(acme, true);
  dimensions.ticked(beta, true);
  await settled();
  await dimensions.remove(beta);
  go();
  await dimensions.idle();
  expect(gaps()).toEqual([]);
  dimensions.add({ ...source, name: beta });
  dimensions.ticked(beta, true);
  await dimensions.remove(beta);
  await dimensions.idle();
  // What is stored of it was read before it was removed for the first time.
  expect(named.filter((name) => name === beta)).toHaveLength(1);
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
