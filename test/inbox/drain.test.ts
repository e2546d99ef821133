import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { EventId, SourceName } from '../../src/domain/ids.js';
import { instantFromMillis, millisOf } from '../../src/domain/instant.js';
import { createDrain, type Drain } from '../../src/inbox/drain.js';
import { laneOf, type Ticked, type Ticks } from '../../src/inbox/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { MemoryInbox } from './support/memory-inbox.js';

const acme = 'acme' as SourceName;
const beta = 'beta' as SourceName;

/** Records nudges; a test decides how each tick ended. */
class FakeTicks implements Ticks {
  readonly nudges: SourceName[] = [];
  readonly #listeners = new Set<(source: SourceName, tick: Ticked) => void>();

  nudge(source: SourceName): void {
    this.nudges.push(source);
  }

  onTick(listener: (source: SourceName, tick: Ticked) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get listening(): number {
    return this.#listeners.size;
  }

  async end(source: SourceName, tick: Partial<Ticked> = {}): Promise<void> {
    const startedAt = instantFromMillis(clock.now());
    for (const tell of this.#listeners)
      tell(source, { done: true, startedAt, publishedThrough: null, ...tick });
    await settled();
  }
}

let clock: VirtualClock;
let inbox: MemoryInbox;
let ticks: FakeTicks;
let drain: Drain;
let sent: number;
const drains: Drain[] = [];
/** What was logged as a warning and is not expected by the test. */
const warned: unknown[][] = [];
const logger = { ...silentLogger, warn: (...line: unknown[]) => void warned.push(line) };

beforeEach(() => {
  clock = new VirtualClock();
  inbox = new MemoryInbox();
  sent = 0;
  build();
});

afterEach(async () => {
  await Promise.all(drains.splice(0).map((one) => one.close()));
  await settled();
  expect(clock.sleeping, 'alarms left behind').toBe(0);
  expect(ticks.listening).toBe(0);
  expect(warned.splice(0)).toEqual([]);
});

function build(sources: readonly SourceName[] = [acme, beta]): void {
  ticks = new FakeTicks();
  drain = createDrain({ inbox, ticks, clock, logger, sources });
  drains.push(drain);
}

const now = () => instantFromMillis(clock.now());

async function arrive(
  sources: readonly SourceName[] = [acme],
  observedAt: number | null = clock.now(),
): Promise<void> {
  sent += 1;
  await inbox.accept({
    eventId: `evt_${sent}` as EventId,
    installation: 'inst_1',
    event: 'investment.changed',
    company: 'co_1',
    investment: 'inv_1',
    observedAt: observedAt === null ? null : instantFromMillis(observedAt),
    test: false,
    receivedAt: now(),
    body: '{}',
    lane: laneOf(sources),
  });
  drain.accepted(sources);
}

test('CLIENT-21 drain: an event nudges its source at once and is worked when the feed reaches its time', async () => {
  await arrive();
  expect(ticks.nudges).toEqual([acme]);
  clock.jump(1000);
  await ticks.end(acme, { publishedThrough: instantFromMillis(clock.now() - 1000) });
  expect(inbox.states()).toEqual(['worked']);
  expect(drain.status()).toEqual({ worked: 1, retried: 0, givenUp: 0 });
  expect(ticks.nudges, 'once').toEqual([acme]);
});

test('drain: an event of no source nudges nothing', () => {
  drain.accepted([]);
  expect(ticks.nudges).toEqual([]);
});

test('drain: an event that the feed does not show is retried for an hour with growing waits, then left to timed ticks', async () => {
  const behind = { publishedThrough: instantFromMillis(clock.now() - 60_000) };
  await arrive();
  clock.jump(1);
  await ticks.end(acme, behind);
  for (const seconds of [2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800]) {
    ticks.nudges.length = 0;
    await clock.advance(seconds * 1000 - 1);
    expect(ticks.nudges).toEqual([]);
    await clock.advance(1);
    expect(ticks.nudges).toEqual([acme]);
    await ticks.end(acme, behind);
  }
  expect(inbox.states()).toEqual(['given_up']);
  expect(drain.status()).toEqual({ worked: 0, retried: 10, givenUp: 1 });
  expect(warned.splice(0)).toEqual([
    [{ source: acme, count: 1 }, 'the feed never showed these events; they are left to timed ticks'],
  ]);
});

test('drain: an event that appears between two attempts is worked by the next one', async () => {
  await arrive();
  const observed = now();
  clock.jump(1);
  await ticks.end(acme, { publishedThrough: instantFromMillis(clock.now() - 60_000) });
  expect(inbox.states()).toEqual(['pending']);
  await clock.advance(2000);
  await ticks.end(acme, { publishedThrough: observed });
  expect(inbox.states()).toEqual(['worked']);
  ticks.nudges.length = 0;
  await clock.advance(3_600_000);
  expect(ticks.nudges, 'nothing is pending, nothing is nudged').toEqual([]);
});

test('drain: an event postponed by a wrong clock is worked by the next tick that reaches it', async () => {
  await arrive();
  const observed = now();
  clock.jump(1);
  clock.setBack(-600_000);
  await ticks.end(acme, { publishedThrough: instantFromMillis(millisOf(observed) - 60_000) });
  expect(inbox.rows).toMatchObject([{ state: 'pending', attempts: 1 }]);
  clock.setBack(600_000);
  const early = { publishedThrough: instantFromMillis(millisOf(observed) - 1) };
  await ticks.end(acme, early);
  expect(inbox.rows, 'it is not looked for before it is due').toMatchObject([
    { state: 'pending', attempts: 1 },
  ]);
  ticks.nudges.length = 0;
  await ticks.end(acme, { publishedThrough: observed });
  expect(inbox.states()).toEqual(['worked']);
  await clock.advance(3_600_000);
  expect(ticks.nudges, 'its next attempt is canceled').toEqual([]);
});

test('drain: a failed or waiting tick settles nothing and counts no attempt', async () => {
  await arrive();
  clock.jump(1);
  for (let times = 0; times < 50; times += 1) await ticks.end(acme, { done: false, publishedThrough: now() });
  expect(inbox.rows).toMatchObject([{ state: 'pending', attempts: 0 }]);
  await ticks.end(acme, { publishedThrough: now() });
  expect(inbox.states()).toEqual(['worked']);
});

test('drain: an event that arrives during a tick is left to the next one', async () => {
  const startedAt = now();
  clock.jump(10);
  await arrive([acme], null);
  await arrive([acme], clock.now());
  ticks.nudges.length = 0;
  const writes = [vi.spyOn(inbox, 'settle'), vi.spyOn(inbox, 'retry')];
  await ticks.end(acme, { startedAt, publishedThrough: startedAt });
  expect(ticks.nudges, 'each nudged when it arrived').toEqual([]);
  for (const write of writes) expect(write, 'nothing to write').not.toHaveBeenCalled();
  expect(inbox.rows).toMatchObject([
    { state: 'pending', attempts: 0 },
    { state: 'pending', attempts: 0 },
  ]);
  clock.jump(10);
  await ticks.end(acme, { publishedThrough: now() });
  expect(inbox.states()).toEqual(['worked', 'worked']);
});

test('drain: events of different sources do not wait for each other', async () => {
  await arrive([acme]);
  await arrive([beta]);
  clock.jump(1);
  await ticks.end(beta, { publishedThrough: now() });
  expect(inbox.states()).toEqual(['pending', 'worked']);
});

test('drain: an event of two sources is worked once both were read past it', async () => {
  await arrive([beta, acme]);
  expect([...ticks.nudges].sort()).toEqual([acme, beta]);
  clock.jump(1);
  await ticks.end(acme, { publishedThrough: now() });
  expect(inbox.states()).toEqual(['pending']);
  await ticks.end(beta, { publishedThrough: now() });
  expect(inbox.states()).toEqual(['worked']);
});

test('drain: an event of more sources than a lane can name is worked once every source was read past it', async () => {
  const many = Array.from({ length: 100 }, (_, n) => `source-with-a-long-name-${n}` as SourceName);
  await drain.close();
  build([acme, ...many]);
  await arrive(many);
  expect(inbox.rows.map(({ lane }) => lane)).toEqual(['*']);
  expect(new Set(ticks.nudges)).toEqual(new Set([acme, ...many]));
  for (const source of many) await ticks.end(source, { publishedThrough: now() });
  expect(inbox.states()).toEqual(['pending']);
  await ticks.end(acme, { publishedThrough: now() });
  expect(inbox.states()).toEqual(['worked']);
});

test('drain: one tick settles a whole burst, reading 500 events at once and each of them once', async () => {
  for (let times = 0; times < 1500; times += 1) await arrive();
  clock.jump(1);
  const read = vi.spyOn(inbox, 'pending');
  await ticks.end(acme, { publishedThrough: now() });
  expect(read.mock.calls.map(([, after]) => after)).toEqual([0, 500, 1000, 1500]);
  expect(new Set(inbox.states())).toEqual(new Set(['worked']));
});

test('drain: events that an earlier process left are resumed at the start', async () => {
  await arrive([acme]);
  await arrive([beta]);
  await drain.close();
  build();
  await drain.start();
  expect([...ticks.nudges].sort()).toEqual([acme, beta]);
  clock.jump(1);
  await ticks.end(acme, { publishedThrough: now() });
  await ticks.end(beta, { publishedThrough: now() });
  expect(inbox.states()).toEqual(['worked', 'worked']);
});

test('drain: events of sources no longer configured are ignored', async () => {
  await arrive([beta]);
  await drain.close();
  build([acme]);
  await drain.start();
  await settled();
  expect(inbox.states()).toEqual(['ignored']);
  expect(ticks.nudges).toEqual([]);
  expect(drain.status()).toEqual({ worked: 0, retried: 0, givenUp: 0 });
});

test('drain: a busy database delays settling and loses no event', async () => {
  await arrive();
  clock.jump(1);
  inbox.failure = new Fault('database_busy', 'made up');
  await ticks.end(acme, { publishedThrough: now() });
  inbox.failure = undefined;
  expect(inbox.states()).toEqual(['pending']);
  expect(warned.splice(0)).toHaveLength(1);
  await clock.advance(5000);
  expect(inbox.states()).toEqual(['worked']);
});

test('drain: when the database is back, events that could not be settled are settled at once', async () => {
  await arrive();
  clock.jump(1);
  inbox.failure = new Fault('database_busy', 'made up');
  await ticks.end(acme, { publishedThrough: now() });
  expect(warned.splice(0)).toHaveLength(1);
  inbox.failure = undefined;
  drain.databaseIsBack();
  await settled();
  expect(inbox.states()).toEqual(['worked']);
  const read = vi.spyOn(inbox, 'pending');
  drain.databaseIsBack();
  await settled();
  expect(read, 'nothing is left').not.toHaveBeenCalled();
});

test('drain: a database busy for hours is logged at first and once an hour, and again when it recurs', async () => {
  await arrive();
  clock.jump(1);
  inbox.failure = new Fault('database_busy', 'made up');
  await ticks.end(acme, { publishedThrough: now() });
  for (const lines of [1, 2, 3]) {
    expect(warned).toHaveLength(lines);
    await clock.advance(3_600_000 - 1);
    expect(warned).toHaveLength(lines);
    await clock.advance(1);
  }
  inbox.failure = undefined;
  await clock.advance(5000);
  expect(inbox.states()).toEqual(['worked']);
  await arrive();
  clock.jump(1);
  inbox.failure = new Fault('database_busy', 'made up');
  await ticks.end(acme, { publishedThrough: now() });
  expect(warned.splice(0)).toHaveLength(5);
  inbox.failure = undefined;
  await clock.advance(5000);
});

test('drain: requests waiting on a socket at the end of a tick are handled before its events are settled', async () => {
  await arrive();
  const order: string[] = [];
  const { pending } = inbox;
  vi.spyOn(inbox, 'pending').mockImplementation((...args) => {
    order.push('settling');
    return pending.apply(inbox, args);
  });
  setImmediate(() => order.push('socket'));
  await ticks.end(acme);
  expect(order.slice(0, 2)).toEqual(['socket', 'settling']);
});

test('drain: events proven by a tick right before a stop are settled with it, and others are not looked for', async () => {
  await arrive();
  await arrive([acme], clock.now() + 1);
  const ended = ticks.end(acme, { publishedThrough: now() });
  await drain.close();
  await ended;
  expect(inbox.states()).toEqual(['worked', 'pending']);
  ticks.nudges.length = 0;
  await clock.advance(3_600_000);
  expect(ticks.nudges).toEqual([]);
});

test('drain: the events of a removed source are ignored at once, and its nudges end', async () => {
  await arrive();
  await arrive([acme, beta]);
  drain.removed([acme]);
  await settled();
  expect(inbox.states()).toEqual(['ignored', 'pending']);
  ticks.nudges.length = 0;
  drain.accepted([acme]);
  expect(ticks.nudges).toEqual([]);
  drain.removed([beta]);
  await settled();
  expect(inbox.states()).toEqual(['ignored', 'ignored']);
});

test('drain: a source that is added gets its nudges, and its events wait for its ticks', async () => {
  const gamma = 'gamma' as SourceName;
  drain.added([gamma]);
  await arrive([gamma]);
  expect(ticks.nudges).toEqual([gamma]);
  await settled();
  expect(inbox.states()).toEqual(['pending']);
  await ticks.end(gamma, { publishedThrough: now() });
  expect(inbox.states()).toEqual(['worked']);
});
