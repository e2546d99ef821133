import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Fault, type FaultCode } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import type { Position } from '../../src/domain/position.js';
import { createSync } from '../../src/sync/create-sync.js';
import type { Feed, ReceivedPage, SyncSource, Urgency } from '../../src/sync/ports.js';
import type { Sync } from '../../src/sync/sync.js';
import type { TickResult } from '../../src/sync/tick-parts.js';
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
    options: { ...parts.options, intervalMillis: minute, idleIntervalMillis: 3 * minute, concurrency },
  });
  open.push(sync);
  ticks = [];
  sync.onTick((source, result) => ticks.push({ source, result }));
  return sync;
}

const outcomes = () => ticks.map(({ source, result }) => `${source} ${result.report.outcome}`);

/** A feed whose pages wait until the test releases them. */
class Gate implements Feed {
  readonly waiting: (() => void)[] = [];
  urgency: Urgency[] = [];
  running = 0;
  runningMax = 0;
  constructor(readonly feed: Feed) {}

  async page(position: Position, signal: AbortSignal): Promise<ReceivedPage> {
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

test('sync: a tick requests the page at the last position before it takes the lease, once per tick', async () => {
  const order: string[] = [];
  const feed: Feed = {
    page: (position) => {
      order.push(position.kind);
      return truth.page(position);
    },
  };
  const { open: opening } = mirror;
  vi.spyOn(mirror, 'open').mockImplementation((...args) => {
    order.push('lease');
    return opening.apply(mirror, args);
  });
  build([sourceOf(feed)]);
  await sync.tick(acme);
  expect(order.splice(0)[0]).toBe('lease');
  truth.publish(1, 99);
  await sync.tick(acme);
  expect(order.splice(0)).toEqual(['cursor', 'lease']);
  await sync.tick(acme, { resync: true });
  expect(order.slice(0, 2)).toEqual(['lease', 'start']);
});

test('sync: every source ticks at the start and then about once per interval', async () => {
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

test('sync: timed ticks are spaced out while webhooks announce every change', async () => {
  build([sourceOf(truth)]).start();
  await sync.idle();
  truth.publish(1, 2);
  sync.nudge(acme);
  await sync.idle();
  ticks.length = 0;
  await clock.advance(60 * minute);
  expect(ticks.length).toBeGreaterThanOrEqual(16);
  expect(ticks.length).toBeLessThanOrEqual(25);
  truth.publish(1, 3);
  await clock.advance(4 * minute);
  ticks.length = 0;
  await clock.advance(60 * minute);
  expect(ticks.length).toBeGreaterThanOrEqual(48);
});

test('sync: a thousand nudges within one tick cost at most two ticks', async () => {
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

test('sync: nudges that last as long as three ticks cost at most one more tick', async () => {
  const gate = new Gate(truth);
  build([gate.source(acme)]).start();
  await gate.release();
  await sync.idle();
  ticks.length = 0;
  sync.nudge(acme);
  await settled();
  for (let turn = 1; turn <= 3; turn += 1) {
    for (let times = 0; times < 250; times += 1) sync.nudge(acme);
    await gate.release();
    await clock.advance(1_000);
    await settled();
  }
  await gate.release();
  await sync.idle();
  expect(ticks.map(({ result }) => result.report.trigger)).toEqual(Array<string>(4).fill('webhook'));
});

/** A quota of requests for each full hour, counted as the platform counts it. */
class Quota {
  #window = 0;
  #spent = 0;
  /** Requests beyond the limit. */
  refused = 0;
  constructor(readonly limit = 1000) {}

  get left(): number {
    this.#roll();
    return Math.max(0, this.limit - this.#spent);
  }

  source(feed: Feed, name: SourceName = acme): SyncSource {
    const counted: Feed = {
      page: (position, signal) => {
        this.spend();
        return feed.page(position, signal);
      },
    };
    return {
      ...sourceOf(counted, name),
      mayReadIdentity: async () => {
        this.spend();
        return true;
      },
      limits: () => [
        {
          key: 'token:1',
          kind: 'token',
          limit: this.limit,
          left: this.left,
          resetsInMillis: 60 * minute - (clock.monotonic() % (60 * minute)),
        },
      ],
    };
  }

  spend(): void {
    this.#roll();
    this.#spent += 1;
    if (this.#spent > this.limit) this.refused += 1;
  }

  #roll(): void {
    const window = Math.floor(clock.monotonic() / (60 * minute));
    if (window !== this.#window) this.#spent = 0;
    this.#window = window;
  }
}

describe('sync: webhook ticks follow the request quota', () => {
  const webhookTicks = () => ticks.filter(({ result }) => result.report.trigger === 'webhook').length;
  const nudgeEvery = async (millis: number, times: number) => {
    for (let turn = 0; turn < times; turn += 1) {
      sync.nudge(acme);
      await clock.advance(millis);
    }
  };
  let quota: Quota;
  beforeEach(() => {
    quota = new Quota();
  });

  test('in a fresh hour 400 changes, each made when the one before was read, are all read without any delay', async () => {
    build([quota.source(truth)]).start();
    await sync.idle();
    ticks.length = 0;
    const begun = clock.monotonic();
    for (let change = 1; change <= 400; change += 1) {
      truth.publish(1, 10 + change);
      sync.nudge(acme);
      await sync.idle();
      expect(ticks.length).toBe(change);
    }
    expect(clock.monotonic() - begun).toBe(0);
    expect(webhookTicks()).toBe(400);
    expect(sync.spacingOf(acme)).toMatchObject({ gapMillis: 0, waitMillis: 0, reason: 'plenty' });
  });

  test('changes without end never exceed the quota, their wait grows smoothly, and the next hour starts over', async () => {
    build([quota.source(truth)]).start();
    await sync.idle();
    const waits: number[] = [];
    while (clock.monotonic() % (60 * minute) < 59 * minute) {
      const count = ticks.length;
      const asked = clock.monotonic();
      sync.nudge(acme);
      await settled();
      while (ticks.length === count) await clock.advance(250);
      waits.push(clock.monotonic() - asked);
      await clock.advance(250);
    }
    expect(quota.refused).toBe(0);
    expect(Math.max(...waits.slice(0, 650))).toBe(0);
    expect(Math.max(...waits)).toBeLessThan(20_000);
    const growth = waits.slice(1).map((wait, index) => wait - (waits[index] ?? 0));
    expect(Math.max(...growth)).toBeLessThanOrEqual(500);
    expect(quota.left).toBeLessThan(100);
    expect(sync.spacingOf(acme)).toMatchObject({ reason: 'scarce', by: { kind: 'token' } });
    await clock.advance(minute);
    ticks.length = 0;
    await nudgeEvery(100, 300);
    expect(webhookTicks()).toBe(300);
  });

  test('webhooks without end leave the timer, the grant check and other sources of the token their share', async () => {
    quota = new Quota(400);
    build([quota.source(truth), quota.source(truth, beta)]).start();
    await sync.idle();
    await nudgeEvery(500, 55 * 120);
    expect(quota.refused).toBe(0);
    const quiet = ticks.filter(({ source }) => source === beta);
    expect(quiet.length).toBeGreaterThan(40);
    expect(quiet.every(({ result }) => result.report.outcome === 'done')).toBe(true);
    expect(ticks.every(({ result }) => result.report.outcome === 'done')).toBe(true);
  });

  test('sources that share a token share what webhooks may use', async () => {
    build([quota.source(truth), quota.source(truth, beta)]).start();
    await sync.idle();
    while (quota.left > 300) quota.spend();
    sync.nudge(acme);
    await sync.idle();
    const alone = sync.spacingOf(acme).gapMillis;
    sync.nudge(beta);
    await sync.idle();
    expect(sync.spacingOf(acme).gapMillis / alone).toBeGreaterThan(1.9);
    expect(sync.spacingOf(beta).gapMillis).toBe(sync.spacingOf(acme).gapMillis);
    await clock.advance(2 * minute);
    sync.nudge(acme);
    await sync.idle();
    expect(sync.spacingOf(acme).gapMillis / alone, 'the other one had no webhook for a minute').toBeLessThan(
      1.1,
    );
  });

  test('sources of other processes that share a token get their share, once each, for as long as they are reported', async () => {
    let refreshed = 0;
    const away = {
      ...quota.source(truth, beta),
      refreshLimits: () => {
        refreshed += 1;
        return Promise.reject(new Error('away'));
      },
    };
    build([quota.source(truth), away]).start();
    await sync.idle();
    expect(sync.spaced()).toEqual([]);
    sync.nudge(acme);
    await sync.idle();
    expect(sync.spaced(), 'while there is plenty no other host has to know').toEqual([]);
    while (quota.left > 300) quota.spend();
    expect(sync.spaced()).toEqual([acme]);
    const alone = sync.spacingOf(acme);
    expect(alone.by).toMatchObject({ sharing: 1, elsewhere: 0 });
    await sync.leave(beta);
    sync.spacedElsewhere([beta, 'unknown' as SourceName]);
    await settled();
    expect(refreshed).toBe(1);
    const shared = sync.spacingOf(acme);
    expect(shared.by).toMatchObject({ sharing: 1, elsewhere: 1 });
    expect(shared.gapMillis / alone.gapMillis).toBeGreaterThan(1.9);
    sync.follow(beta);
    sync.nudge(beta);
    await settled();
    expect(sync.spacingOf(acme).by, 'handed over while both report it').toMatchObject({
      ...{ sharing: 2, elsewhere: 0 },
    });
    await clock.advance(2 * minute);
    sync.nudge(acme);
    await sync.idle();
    sync.spacedElsewhere([]);
    expect(sync.spacingOf(acme).by).toMatchObject({ sharing: 1, elsewhere: 0 });
  });

  test('without a quota each nudge starts a tick', async () => {
    build([sourceOf(truth)]).start();
    await sync.idle();
    ticks.length = 0;
    await nudgeEvery(50, 500);
    expect(webhookTicks()).toBe(500);
  });

  test('while the quota is spent nothing is asked, and the last nudge is not lost', async () => {
    build([quota.source(truth)]).start();
    await sync.idle();
    while (quota.left > 0) quota.spend();
    ticks.length = 0;
    sync.nudge(acme);
    await settled();
    expect(sync.spacingOf(acme)).toMatchObject({ reason: 'spent', by: { left: 0 } });
    expect(ticks).toEqual([]);
    sync.nudge(acme);
    await clock.advance(60 * minute);
    expect(webhookTicks()).toBeGreaterThanOrEqual(1);
  });

  test('endless nudges do not delay a manual tick', async () => {
    build([quota.source(truth)]).start();
    await sync.idle();
    while (quota.left > 100) quota.spend();
    sync.nudge(acme);
    await sync.idle();
    sync.nudge(acme);
    expect((await sync.tick(acme)).report.trigger).toBe('manual');
  });
});

describe('sync: the identity grant check', () => {
  let granted: boolean | null | Error;
  let asked: number;
  const source = (feed: Feed = truth): SyncSource => ({
    ...sourceOf(feed),
    mayReadIdentity: async () => {
      asked += 1;
      if (granted instanceof Error) throw granted;
      return granted;
    },
  });
  beforeEach(() => {
    granted = true;
    asked = 0;
  });

  test('the grant check runs at the start and once an hour; a denial erases identity at once, without a new record', async () => {
    build([source()]).start();
    await sync.idle();
    expect(asked).toBe(1);
    await clock.advance(50 * minute);
    expect(asked).toBe(1);
    await clock.advance(140 * minute);
    expect(asked).toBe(4);
    expect(mirror.of(acme).identity).toBe(true);
    granted = false;
    await clock.advance(62 * minute);
    expect(mirror.of(acme).identity).toBe(false);
    expect(ticks.every(({ result }) => result.report.outcome === 'done')).toBe(true);
  });

  test('a grant check that fails or is inconclusive erases nothing, and a failed one is retried less and less often', async () => {
    granted = null;
    build([source()]).start();
    await sync.idle();
    granted = new Fault('platform_error', 'made up');
    sync.recheck(acme);
    asked = 0;
    await clock.advance(5 * minute);
    expect(asked).toBeGreaterThanOrEqual(5);
    await clock.advance(55 * minute);
    expect(asked).toBeLessThanOrEqual(10);
    expect(mirror.of(acme).identity).toBe(true);
    expect(ticks.at(-1)?.result.report.outcome).toBe('done');
    granted = false;
    await clock.advance(66 * minute);
    expect(mirror.of(acme).identity).toBe(false);
  });

  test('the grant check does not start ticks of its own while ticks fail', async () => {
    granted = new Fault('platform_error', 'made up');
    let down = false;
    const feed: Feed = {
      page: (position) =>
        down
          ? Promise.reject(
              new Fault('rate_limited', 'made up', { retryAt: instantFromMillis(clock.now() + 30 * minute) }),
            )
          : truth.page(position),
    };
    build([source(feed)]).start();
    await sync.idle();
    expect(asked).toBe(1);
    down = true;
    await clock.advance(25 * minute);
    expect(ticks.map(({ result }) => result.report.outcome)).toEqual(['done', 'waiting']);
    expect(asked).toBe(1);
  });

  test('the grant check runs at once after the token or the grant changed', async () => {
    build([source()]).start();
    await sync.idle();
    granted = false;
    sync.recheck(acme);
    await settled();
    expect(asked).toBe(2);
    expect(mirror.of(acme).identity).toBe(false);
  });

  test('endless grant change announcements are spaced out, up to five seconds', async () => {
    build([source()]).start();
    await sync.idle();
    ticks.length = 0;
    for (let turn = 0; turn < 20 * 60; turn += 1) {
      sync.recheck(acme);
      await clock.advance(50);
    }
    expect(ticks.length).toBeGreaterThanOrEqual(12);
    expect(ticks.length).toBeLessThanOrEqual(22);
  });

  test('a halted source resumes after its token was replaced, at once or when the platform is back', async () => {
    let refusal: FaultCode | null = 'unauthorized';
    const feed: Feed = {
      page: (position) =>
        refusal === null ? truth.page(position) : Promise.reject(new Fault(refusal, 'made up')),
    };
    build([source(feed)]).start();
    await clock.advance(4 * minute);
    expect(mirror.of(acme).halted).toMatchObject({ code: 'unauthorized' });
    sync.recheck(acme);
    await settled();
    expect(ticks.length, 'still the old one: looked once, stopped again').toBe(2);
    sync.refreshed(acme);
    await settled();
    expect(ticks.length, 'a fresh token was refused, and its refresh is no reason to retry').toBe(2);
    refusal = 'unreachable';
    sync.recheck(acme);
    await clock.advance(3 * minute);
    expect(ticks.length, 'retried').toBeGreaterThan(4);
    expect(mirror.of(acme).halted, 'no answer: halted still').toMatchObject({ code: 'unauthorized' });
    refusal = null;
    sync.recheck(acme);
    await settled();
    expect(mirror.of(acme).halted).toBeNull();
    const before = ticks.length;
    await clock.advance(3 * minute);
    expect(ticks.length).toBeGreaterThan(before);
    refusal = 'reauthorize';
    sync.refreshed(acme);
    await settled();
    expect(mirror.of(acme).halted).toMatchObject({ code: 'reauthorize' });
    refusal = null;
    sync.refreshed(acme);
    await settled();
    expect(mirror.of(acme).halted, 'another process could refresh the sign-in').toBeNull();
  });
});

test('sync: a source never runs two ticks at once, and the concurrency limit holds', async () => {
  const gate = new Gate(truth);
  const names = ['a', 'b', 'c', 'd', 'e'] as SourceName[];
  build(
    names.map((name) => gate.source(name)),
    2,
  ).start();
  await settled();
  for (const name of names) sync.nudge(name);
  await settled();
  // A tick reads one page ahead while it writes, so two ticks send at most four requests.
  expect(gate.running).toBe(2);
  await gate.release();
  await sync.idle();
  expect(gate.runningMax).toBeLessThanOrEqual(4);
  expect(new Set(ticks.map(({ source }) => source)).size).toBe(5);
});

test('sync: a queued tick moves to the front when a webhook asks for it', async () => {
  const gate = new Gate(truth);
  const names = ['a', 'b', 'c'] as SourceName[];
  build(
    names.map((name) => gate.source(name)),
    1,
  ).start();
  await settled();
  sync.nudge('c' as SourceName);
  await gate.release();
  await sync.idle();
  expect(ticks.slice(0, 3).map(({ source }) => source)).toEqual(['a', 'c', 'b']);
});

test('sync: a halted source waits for an operator while the others continue', async () => {
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
  expect(ticks.filter(({ source }) => source === acme).length, 'opened now and then').toBeLessThan(8);
});

test('sync: a source whose halt another process ended is followed again within minutes', async () => {
  let revoked = true;
  const feed: Feed = {
    page: (position) =>
      revoked ? Promise.reject(new Fault('unauthorized', 'made up')) : truth.page(position),
  };
  build([sourceOf(feed)]).start();
  await clock.advance(minute);
  expect(mirror.of(acme).halted).toMatchObject({ code: 'unauthorized' });
  revoked = false;
  const other = createSync({
    ...partsOf(mirror, clock),
    holder: 'a second process',
    sources: [sourceOf(feed)],
    options: {
      ...partsOf(mirror, clock).options,
      intervalMillis: minute,
      idleIntervalMillis: minute,
      concurrency: 1,
    },
  });
  await other.tick(acme);
  await other.close();
  expect(mirror.of(acme).halted).toBeNull();
  await clock.advance(6 * minute);
  const before = outcomes().filter((one) => one === 'acme done').length;
  expect(before).toBeGreaterThan(0);
  await clock.advance(5 * minute);
  expect(outcomes().filter((one) => one === 'acme done').length, 'by its timer').toBeGreaterThan(before + 2);
});

test('sync: nudges retry a halted source at most once an hour, a manual tick retries it at once', async () => {
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

test('sync: a single nudge retries a halted source when the hour is over', async () => {
  const counts = { asked: 0 };
  let revoked = true;
  const refused = failing(() => new Fault('forbidden', 'scope missing'), counts);
  const feed: Feed = {
    page: (position, signal) => (revoked ? refused : truth).page(position, signal),
  };
  build([sourceOf(feed)]).start();
  await clock.advance(12 * minute);
  sync.nudge(acme);
  revoked = false;
  await clock.advance(40 * minute);
  expect(mirror.of(acme).halted, 'not before').toMatchObject({ code: 'forbidden' });
  expect(counts.asked).toBe(1);
  await clock.advance(12 * minute);
  expect(mirror.of(acme).halted).toBeNull();
});

test('CLIENT-14 sync: no request is sent before the time the platform named, not even for a nudge', async () => {
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

test('sync: a nudge covered by a tick without the reserve gets a tick with the reserve right after', async () => {
  let spent = false;
  const until = instantFromMillis(clock.now() + 50 * minute);
  const limited = failing(() => new Fault('rate_limited', 'wait', { retryAt: until }), { asked: 0 });
  const source: SyncSource = {
    identity: { name: acme, fingerprint: 'f1' },
    feed: (urgency) => (spent && urgency === 'routine' ? limited : truth),
  };
  build([source]).start();
  await sync.idle();
  spent = true;
  truth.publish(1, 2);
  sync.nudge(acme);
  await sync.tick(acme);
  await clock.advance(1000);
  expect(ticks.map(({ result: { report } }) => `${report.trigger} ${report.outcome}`)).toEqual([
    'start done',
    'manual waiting',
    'webhook done',
  ]);
});

test('CLIENT-15 sync: a failing platform is retried less and less often', async () => {
  const counts = { asked: 0 };
  build([sourceOf(failing(() => new Fault('platform_error', '503'), counts))]).start();
  await clock.advance(60 * minute);
  expect(counts.asked).toBeGreaterThan(5);
  expect(counts.asked).toBeLessThan(25);
});

test('sync: a manual tick runs and returns its result without start', async () => {
  build([sourceOf(truth)]);
  const result = await sync.tick(acme);
  expect(result.report).toMatchObject({ trigger: 'manual', outcome: 'done', mode: 'listing' });
  expect(mirror.of(acme).rows.size).toBe(4);
});

test('sync: close ends a running tick, keeps what was committed and accepts no more ticks', async () => {
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

test('sync: setting the wall clock back by a day does not delay the next tick', async () => {
  build([sourceOf(truth)]).start();
  await sync.idle();
  clock.setBack(24 * 60 * minute);
  ticks.length = 0;
  await clock.advance(2 * minute);
  expect(ticks.length).toBeGreaterThan(0);
});

test('sync: a retry time forty days ahead comes from a wrong clock and is limited to four hours', async () => {
  let told = false;
  const feed: Feed = {
    page: async (position) => {
      if (told) return truth.page(position);
      told = true;
      const retryAt = instantFromMillis(clock.now() + 40 * 24 * 60 * minute);
      throw new Fault('rate_limited', 'the budget is spent', { retryAt });
    },
  };
  build([sourceOf(feed)]).start();
  await sync.idle();
  expect(outcomes()).toEqual(['acme waiting']);
  await clock.advance(4 * 60 * minute);
  expect(outcomes().slice(0, 2)).toEqual(['acme waiting', 'acme done']);
});

describe('sync: a database that was unavailable', () => {
  const away = new Fault('database_busy', 'postgres://db cannot be reached (ECONNREFUSED)');

  /**
   * A source whose ticks fail `times` times while its database is unavailable, each after the backoff of the one
   * before.
   */
  async function failing(times: number): Promise<void> {
    build([sourceOf(truth)]).start();
    await sync.idle();
    ticks.length = 0;
    const open = vi.spyOn(mirror, 'open').mockRejectedValue(away);
    while (ticks.length < times) await clock.advance(minute / 60);
    open.mockRestore();
  }

  test('sources tick when the database comes back, not when their backoff ends', async () => {
    await failing(4);
    sync.databaseIsBack({ hasMissed: true });
    await settled();
    expect(outcomes().slice(-2)).toEqual(['acme failed', 'acme done']);
    expect(ticks.at(-1)?.result).toMatchObject({ recorded: true });
    expect(ticks.at(-2)?.result).toMatchObject({ recorded: false, phase: null });
  });

  test('an unavailable database is retried at least every half minute, unlike a failing platform', async () => {
    await failing(7);
    const failed = ticks.map(({ result }) => Date.parse(result.report.startedAt));
    for (const [index, startedAt] of failed.entries())
      if (index > 0) expect(startedAt - (failed[index - 1] ?? 0)).toBeLessThanOrEqual(31_000);
  });

  test('a database that comes back also wakes sources that noticed nothing, but not on every flap', async () => {
    build([sourceOf(truth)]).start();
    await sync.idle();
    await clock.advance(10 * minute);
    ticks.length = 0;
    for (let flap = 0; flap < 5; flap += 1) {
      sync.databaseIsBack({ hasMissed: true });
      await settled();
    }
    expect(outcomes()).toEqual(['acme done']);
  });

  test('a database that comes back wakes neither a halted source nor one that another member works', async () => {
    build([
      sourceOf({ page: async () => Promise.reject(new Fault('forbidden', 'no scope')) }),
      sourceOf(truth, beta),
    ]).start();
    await sync.idle();
    await sync.leave(beta);
    ticks.length = 0;
    sync.databaseIsBack({ hasMissed: true });
    await settled();
    expect(ticks).toEqual([]);
  });
});
