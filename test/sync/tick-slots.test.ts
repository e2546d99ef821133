import { beforeEach, expect, test } from 'vitest';
import { listingTurnMillis, type RunningTick, type SlotWish, TickSlots } from '../../src/sync/tick-slots.js';
import { settled, VirtualClock } from './support/virtual-clock.js';

let clock: VirtualClock;
let slots: TickSlots;
let timedWait: number;
let listingWait: number;
let log: string[];

beforeEach(() => {
  clock = new VirtualClock();
  timedWait = 0;
  listingWait = 0;
  log = [];
});

function build(count: number): void {
  slots = new TickSlots({ clock, slots: count, timedWait: () => timedWait, listingWait: () => listingWait });
}

interface Tick {
  /** Reads the next page, or ends when it was cut. */
  page(): Promise<void>;
  end(): Promise<void>;
  raise(isManual?: boolean): void;
  withdraw(): void;
  readonly isCut: () => boolean;
}

/** A tick that runs until the test ends it. */
function tick(
  name: string,
  wish: Partial<SlotWish> = {},
  reads: 'feed' | 'listing' = wish.lists === true ? 'listing' : 'feed',
): Tick {
  let over = () => {};
  let running: RunningTick | null = null;
  let pages = 0;
  let isCut = false;
  const full: SlotWish = { dueAt: 0, urgent: false, lists: false, looks: false, ...wish };
  const [, ticket] = slots.add(
    full,
    (slot) => {
      running = slot;
      log.push(name);
      return new Promise<void>((resolve) => {
        over = resolve;
      });
    },
    () => {
      isCut = true;
      log.push(`${name} cut`);
      over();
    },
  );
  return {
    page: async () => {
      running?.page(reads === 'listing', pages);
      pages += 1;
      await settled();
    },
    end: async () => {
      over();
      await settled();
    },
    ...ticket,
    isCut: () => isCut,
  };
}

test('tick slots: urgent ticks run first, then timed ones in the order in which they were due', async () => {
  build(1);
  const first = tick('first');
  const all = [
    tick('late', { dueAt: 30 }),
    tick('early', { dueAt: 10 }),
    tick('hook', { dueAt: 40, urgent: true }),
  ];
  const raised = tick('raised', { dueAt: 50 });
  raised.raise();
  raised.raise();
  await first.end();
  for (const one of [all[2], raised, all[1], all[0]]) await one?.end();
  expect(log).toEqual(['first', 'hook', 'raised', 'early', 'late']);
});

test('tick slots: listings leave one slot free, and a webhook takes it at once', async () => {
  build(3);
  for (const name of ['a', 'b', 'c']) tick(name, { lists: true });
  expect(log).toEqual(['a', 'b']);
  tick('hook', { urgent: true });
  expect(log).toEqual(['a', 'b', 'hook']);
});

test('tick slots: with one slot a listing runs, and yields it at the end of its page when a webhook waits', async () => {
  build(1);
  const listing = tick('listing', { lists: true });
  await listing.page();
  await listing.page();
  expect(listing.isCut()).toBe(false);
  tick('hook', { urgent: true });
  await settled();
  expect(log).toEqual(['listing']);
  await listing.page();
  expect(log).toEqual(['listing', 'listing cut', 'hook']);
});

test('tick slots: a long timed tick yields to a webhook too, but only one tick for each webhook', async () => {
  build(2);
  const [one, two] = [tick('one'), tick('two')];
  for (const long of [one, two]) await long.page();
  tick('hook', { urgent: true });
  await one.page();
  await two.page();
  expect(log).toEqual(['one', 'two', 'one cut', 'hook']);
});

test('tick slots: neither a webhook tick nor a tick that a user waits for is cut', async () => {
  build(1);
  const hook = tick('hook', { urgent: true });
  await hook.page();
  tick('other', { urgent: true });
  await hook.page();
  expect(log).toEqual(['hook']);
});

test('tick slots: ticks that turn out to list in every slot give one of them up when another tick waits', async () => {
  build(2);
  const [one, two] = [tick('one', {}, 'listing'), tick('two', {}, 'listing')];
  for (const long of [one, two, one, two]) await long.page();
  expect(log).toEqual(['one', 'two']);
  tick('timed');
  await two.page();
  await one.page();
  expect(log).toEqual(['one', 'two', 'two cut', 'timed']);
});

test('tick slots: listings take turns of half a minute', async () => {
  build(2);
  const one = tick('one', { lists: true });
  await one.page();
  tick('two', { lists: true });
  await clock.advance(listingTurnMillis - 1);
  await one.page();
  expect(log).toEqual(['one']);
  await clock.advance(1);
  await one.page();
  expect(log).toEqual(['one', 'one cut', 'two']);
});

test('tick slots: timed ticks wait for their requests, while webhooks and looks at halted sources run', async () => {
  build(2);
  timedWait = 5_000;
  tick('timed');
  const look = tick('look', { looks: true });
  await look.end();
  await tick('hook', { urgent: true }).end();
  expect(log).toEqual(['look', 'hook']);
  timedWait = 0;
  await clock.advance(5_000);
  expect(log).toEqual(['look', 'hook', 'timed']);
});

test('tick slots: a listing stops for want of requests after its page, and goes on when they are there', async () => {
  build(2);
  const one = tick('one', { lists: true });
  await one.page();
  listingWait = 600_000;
  await one.page();
  tick('one again', { lists: true });
  await clock.advance(599_000);
  expect(log).toEqual(['one', 'one cut']);
  listingWait = 0;
  await clock.advance(60_000);
  expect(log).toEqual(['one', 'one cut', 'one again']);
});

test('tick slots: a tick that is withdrawn ends without a slot, and takes none from others', async () => {
  build(1);
  tick('long');
  const vain = tick('vain');
  tick('next');
  vain.withdraw();
  vain.withdraw();
  await settled();
  expect(log).toEqual(['long', 'vain']);
  await vain.end();
  expect(log).toEqual(['long', 'vain']);
});

test('tick slots: a listing that a user asked for waits for no requests, also when it was waiting already', async () => {
  build(2);
  listingWait = 3_600_000;
  const asked = tick('asked', { urgent: true, lists: true, isManual: true });
  await settled();
  expect(log).toEqual(['asked']);
  const waiting = tick('waiting', { urgent: true, lists: true });
  await settled();
  expect(log).toEqual(['asked']);
  waiting.raise(true);
  await settled();
  expect(log).toEqual(['asked', 'waiting']);
  await asked.end();
});

test('tick slots: a timed tick that a webhook made urgent is not cut for another webhook', async () => {
  build(1);
  const first = tick('first', { urgent: true });
  const raised = tick('raised');
  raised.raise();
  await first.end();
  tick('webhook', { urgent: true });
  await raised.page();
  await raised.page();
  expect(raised.isCut()).toBe(false);
});

test('tick slots: a look at a halted source that was listing waits for no requests', async () => {
  build(2);
  listingWait = 3_600_000;
  tick('look', { lists: true, looks: true });
  await settled();
  expect(log).toEqual(['look']);
});

test('tick slots: a webhook’s tick that is raised again keeps its place, and one that runs does not run twice', async () => {
  build(1);
  const long = tick('long');
  const [a, b] = [tick('a'), tick('b')];
  a.raise();
  await clock.advance(10);
  b.raise();
  await clock.advance(10);
  a.raise();
  await long.end();
  a.raise();
  await a.end();
  await b.end();
  expect(log).toEqual(['long', 'a', 'b']);
});

test('tick slots: a listing that a webhook wants to go on comes before one that is due longer', async () => {
  build(1);
  const long = tick('long');
  tick('timed listing', { lists: true, dueAt: 1 });
  tick('wanted listing', { lists: true, dueAt: 2, urgent: true });
  await long.end();
  expect(log).toEqual(['long', 'wanted listing']);
});

test('tick slots: of a listing and a timed tick that are due at the same time, the tick runs first', async () => {
  build(1);
  const long = tick('long');
  tick('listing', { lists: true, dueAt: 5 });
  tick('timed', { dueAt: 5 });
  await long.end();
  expect(log).toEqual(['long', 'timed']);
});

test('tick slots: every tick reads at least one page before it is cut', async () => {
  build(1);
  const listing = tick('listing', { lists: true });
  tick('hook', { urgent: true });
  await listing.page();
  expect(listing.isCut()).toBe(false);
  await listing.page();
  expect(listing.isCut()).toBe(true);
});

test('tick slots: ticks that do not list do not make room for further listings when they end', async () => {
  build(3);
  for (const one of [tick('one'), tick('two'), tick('three')]) await one.end();
  log.length = 0;
  for (const name of ['a', 'b', 'c']) tick(name, { lists: true });
  expect(log).toEqual(['a', 'b']);
});

test('tick slots: each webhook that waits has a tick cut for it, also after an earlier one was cut', async () => {
  build(1);
  const long = tick('long');
  await long.page();
  const hook = tick('hook', { urgent: true });
  await long.page();
  await hook.end();
  const later = tick('later');
  await later.page();
  tick('another hook', { urgent: true });
  await later.page();
  expect(log).toEqual(['long', 'long cut', 'hook', 'later', 'later cut', 'another hook']);
});

test('tick slots: a tick that does not list is not cut for want of requests, nor for a listing', async () => {
  build(1);
  const timed = tick('timed');
  listingWait = 5_000;
  tick('listing', { lists: true });
  await timed.page();
  await timed.page();
  listingWait = 0;
  await clock.advance(listingTurnMillis);
  await timed.page();
  expect(timed.isCut()).toBe(false);
});

test('tick slots: with one slot, a listing gives it to a timed tick when its half minute is over', async () => {
  build(1);
  const listing = tick('listing', { lists: true });
  tick('timed');
  await listing.page();
  await clock.advance(29_999);
  await listing.page();
  expect(log).toEqual(['listing']);
  await clock.advance(1);
  await listing.page();
  expect(log).toEqual(['listing', 'listing cut', 'timed']);
});

test('tick slots: a listing whose half minute is over goes on while nobody waits for its slot', async () => {
  build(2);
  const listing = tick('listing', { lists: true });
  await listing.page();
  await clock.advance(listingTurnMillis);
  await listing.page();
  expect(listing.isCut(), 'a slot is free').toBe(false);
  tick('timed');
  await listing.page();
  expect(listing.isCut(), 'every slot is taken').toBe(false);
  tick('another timed one');
  await listing.page();
  expect(listing.isCut(), 'a timed tick waits').toBe(true);
});

test('tick slots: requests that came back earlier than expected are noticed within a minute', async () => {
  build(2);
  listingWait = 600_000;
  tick('listing', { lists: true });
  listingWait = 0;
  await clock.advance(59_999);
  expect(log).toEqual([]);
  await clock.advance(1);
  expect(log).toEqual(['listing']);
});
