import { afterEach, beforeEach, expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import type { Position } from '../../src/domain/position.js';
import { createSync, type Sync } from '../../src/sync/create-sync.js';
import type { Feed, FeedPage, SyncSource, Urgency } from '../../src/sync/ports.js';
import type { TickResult } from '../../src/sync/run-tick.js';
import { MemoryMirror } from './support/memory-mirror.js';
import { acme, partsOf, sourceOf } from './support/parts.js';
import { Truth } from './support/truth.js';
import { settled, VirtualClock } from './support/virtual-clock.js';

const beta = 'beta' as SourceName;
const minute = 60_000;

let clock: VirtualClock;
let mirror: MemoryMirror;
let truth: Truth;
let sync: Sync;
let ticks: { source: SourceName; result: TickResult }[];
const open: Sync[] = [];

beforeEach(() => {
  clock = new VirtualClock();
  mirror = new MemoryMirror(() => clock.now());
  truth = new Truth(() => clock.now());
  for (let number = 1; number <= 4; number += 1) truth.publish(number, number);
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
  expect(clock.sleeping, 'sleepers left behind').toBe(0);
});

function build(sources: readonly SyncSource[], concurrency = 4): Sync {
  const parts = partsOf(mirror, clock);
  sync = createSync({
    ...parts,
    sources,
    options: { ...parts.options, intervalMillis: minute, concurrency },
  });
  open.push(sync);
  ticks = [];
  sync.onTick((source, result) => ticks.push({ source, result }));
  return sync;
}

const outcomes = () => ticks.map(({ source, result }) => `${source} ${result.report.outcome}`);

/** A feed whose pages wait until a test lets them go. */
class Gate implements Feed {
  readonly waiting: (() => void)[] = [];
  urgency: Urgency[] = [];
  running = 0;
  runningMax = 0;
  constructor(readonly feed: Feed) {}

  async page(position: Position, signal: AbortSignal): Promise<FeedPage> {
    this.running += 1;
    this.runningMax = Math.max(this.runningMax, this.running);
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.running -= 1;
    if (signal.aborted) throw new Fault('stopped', 'told to stop');
    return await this.feed.page(position, signal);
  }

  async release(): Promise<void> {
    await settled();
    while (this.waiting.length > 0) {
      for (const go of this.waiting.splice(0)) go();
      await settled();
    }
  }

  source(name: SourceName): SyncSource {
    return {
      identity: { name, fingerprint: 'f1' },
      feed: (urgency) => {
        this.urgency.push(urgency);
        return this;
      },
    };
  }
}

const failing = (fault: () => Fault, counts: { asked: number }): Feed => ({
  page: () => {
    counts.asked += 1;
    return Promise.reject(fault());
  },
});

test('every source ticks at the start and then about once per interval', async () => {
  build([sourceOf(truth), sourceOf(truth, beta)]).start();
  await sync.idle();
  expect(outcomes().sort()).toEqual(['acme done', 'beta done']);
  expect(ticks.map(({ result }) => result.report.trigger)).toEqual(['start', 'start']);
  await clock.advance(10 * minute);
  const acmeTicks = ticks.filter(({ source }) => source === acme);
  expect(acmeTicks.length).toBeGreaterThanOrEqual(8);
  expect(acmeTicks.length).toBeLessThanOrEqual(14);
  expect(acmeTicks.at(-1)?.result.report.trigger).toBe('timer');
});

test('a burst of a thousand nudges costs at most two ticks', async () => {
  const gate = new Gate(truth);
  build([gate.source(acme)]).start();
  await gate.release();
  await sync.idle();
  ticks.length = 0;
  sync.nudge(acme);
  await settled();
  for (let times = 0; times < 1000; times += 1) sync.nudge(acme);
  await gate.release();
  await sync.idle();
  expect(ticks.map(({ result }) => result.report.trigger)).toEqual(['webhook', 'webhook']);
  expect(gate.urgency.at(-1)).toBe('webhook');
});

test('one source never runs two ticks at once, and no more sources run than allowed', async () => {
  const gate = new Gate(truth);
  const names = ['a', 'b', 'c', 'd', 'e'] as SourceName[];
  build(
    names.map((name) => gate.source(name)),
    2,
  ).start();
  await settled();
  for (const name of names) sync.nudge(name);
  await settled();
  // A tick reads one page ahead while it writes, so two ticks are at most four requests.
  expect(gate.running).toBe(2);
  await gate.release();
  await sync.idle();
  expect(gate.runningMax).toBeLessThanOrEqual(4);
  expect(new Set(ticks.map(({ source }) => source)).size).toBe(5);
});

test('a halted source stays for a human while the others go on', async () => {
  const counts = { asked: 0 };
  const revoked = failing(
    () => new Fault('reauthorize', 'the grant was revoked', { hint: 'connect' }),
    counts,
  );
  build([sourceOf(revoked), sourceOf(truth, beta)]).start();
  await clock.advance(30 * minute);
  expect(counts.asked).toBe(1);
  expect(ticks.filter(({ source }) => source === beta).length).toBeGreaterThan(20);
  expect(mirror.of(acme).halted).toMatchObject({ code: 'reauthorize' });
  expect(ticks.filter(({ source }) => source === acme).length, 'it is not even opened').toBe(1);
});

test('nudges earn a halted source at most one look an hour, a human one at once', async () => {
  const counts = { asked: 0 };
  build([sourceOf(failing(() => new Fault('forbidden', 'scope missing'), counts))]).start();
  await sync.idle();
  for (let turn = 0; turn < 240; turn += 1) {
    sync.nudge(acme);
    await clock.advance(minute);
  }
  expect(counts.asked).toBeGreaterThanOrEqual(3);
  expect(counts.asked).toBeLessThanOrEqual(5);
  const before = counts.asked;
  await sync.tick(acme);
  expect(counts.asked).toBe(before + 1);
});

test('CLIENT-14 nothing is asked before the moment the platform named, not even for a nudge', async () => {
  const counts = { asked: 0 };
  const until = clock.now() + 30 * minute;
  const limited = () => new Fault('rate_limited', 'wait', { retryAt: instantFromMillis(until) });
  build([sourceOf(failing(limited, counts))]).start();
  await sync.idle();
  for (let turn = 0; turn < 29; turn += 1) {
    sync.nudge(acme);
    await clock.advance(minute);
  }
  expect(counts.asked).toBe(1);
  expect(outcomes()).toEqual(['acme waiting']);
  await clock.advance(2 * minute);
  expect(counts.asked).toBeGreaterThan(1);
});

test('CLIENT-15 a failing platform is asked ever more seldom', async () => {
  const counts = { asked: 0 };
  build([sourceOf(failing(() => new Fault('platform_error', '503'), counts))]).start();
  await clock.advance(60 * minute);
  expect(counts.asked).toBeGreaterThan(5);
  expect(counts.asked).toBeLessThan(25);
});

test('a human who asks gets the tick and its result without start', async () => {
  build([sourceOf(truth)]);
  const result = await sync.tick(acme);
  expect(result.report).toMatchObject({ trigger: 'manual', outcome: 'done', mode: 'listing' });
  expect(mirror.of(acme).rows.size).toBe(4);
});

test('closing ends a tick in the middle, keeps what was committed and takes no more', async () => {
  const gate = new Gate(truth);
  build([gate.source(acme)]).start();
  await settled();
  gate.waiting.splice(0)[0]?.();
  await settled();
  await sync.close();
  expect(outcomes()).toEqual(['acme stopped']);
  expect(mirror.of(acme).active).toMatchObject({ kind: 'listing', listing: { pages: 1, rows: 3 } });
  expect(() => sync.tick(acme)).toThrow('no longer');
});

test('a wall clock set back by a day does not delay the next tick', async () => {
  build([sourceOf(truth)]).start();
  await sync.idle();
  clock.setBack(24 * 60 * minute);
  ticks.length = 0;
  await clock.advance(2 * minute);
  expect(ticks.length).toBeGreaterThan(0);
});
