import { afterEach, expect, test } from 'vitest';
import { type SharesWanted, sharesFor } from '../../src/config/request-shares.js';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import type { Cursor, Position } from '../../src/domain/position.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { createSync } from '../../src/sync/create-sync.js';
import type { Feed, LastTick, ReceivedPage, SyncSource } from '../../src/sync/ports.js';
import type { Sync } from '../../src/sync/sync.js';
import { listingTurnMillis } from '../../src/sync/tick-slots.js';
import { testRandom } from '../support/chance.js';
import { CrowdClock } from './support/crowd-clock.js';
import { MemoryMirror } from './support/memory-mirror.js';
import { received } from './support/truth.js';

/*
 * Thousands of sources on one address, over virtual time. The platform takes a while for each page and counts requests as
 * the real one does: 5,000 in each hour of the clock.
 */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const pageMillis = 200;
const addressPerHour = 5_000;
const wanted: SharesWanted = {
  intervalSeconds: 60,
  idleIntervalSeconds: 180,
  requestsPerHour: 1_000,
  addressPerHour,
};

const picks = testRandom();
const open: { readonly sync: Sync; readonly clock: CrowdClock }[] = [];
afterEach(async () => {
  for (const { sync, clock } of open.splice(0)) {
    let isClosed = false;
    const closing = sync.close().then(() => {
      isClosed = true;
    });
    // A page under way arrives only while time passes.
    while (!isClosed) await clock.advance(second);
    await closing;
  }
});

/** The hour of the platform's limit. */
class Address {
  readonly spentIn = new Map<number, number>();
  refused = 0;

  constructor(readonly clock: CrowdClock) {}

  spend(): void {
    const window = Math.floor(this.clock.now() / hour);
    const spent = (this.spentIn.get(window) ?? 0) + 1;
    this.spentIn.set(window, spent);
    if (spent <= addressPerHour) return;
    this.refused += 1;
    throw new Fault('rate_limited', 'the limit of the address', {
      retryAt: instantFromMillis((window + 1) * hour),
    });
  }

  limit() {
    const spent = this.spentIn.get(Math.floor(this.clock.now() / hour)) ?? 0;
    return {
      key: 'address',
      kind: 'address' as const,
      limit: addressPerHour,
      left: Math.max(0, addressPerHour - spent),
      resetsInMillis: hour - (this.clock.now() % hour),
    };
  }

  most(): number {
    return Math.max(...this.spentIn.values());
  }
}

interface Seen {
  readonly begun: number;
  readonly trigger: string;
}

function world(
  count: number,
  lastTick: (n: number) => LastTick | undefined,
  identity: 'kept' | 'never kept' | 'no longer kept' = 'kept',
) {
  const clock = new CrowdClock();
  const address = new Address(clock);
  const mirror = new MemoryMirror(() => clock.now());
  const names = Array.from({ length: count }, (_, n) => `s${n}` as SourceName);
  const last = new Map<SourceName, LastTick>();
  for (const [n, name] of names.entries()) {
    const tick = lastTick(n);
    if (tick !== undefined) last.set(name, tick);
    mirror.sources.set(name, {
      fingerprint: 'f1',
      active: {
        kind: 'following',
        cursor: 'c' as Cursor,
        listed: { at: instantFromMillis(clock.now()), restarts: 0 },
        namesIncomplete: false,
      },
      halted: null,
      rows: new Map(),
      staged: new Map(),
      awaiting: new Set(),
      generation: 1,
      fence: 0,
      holder: null,
      identity: true,
      namesIncomplete: false,
      ticks: [],
    });
  }
  const refusing = new Set<SourceName>();
  const ask = async (name: SourceName, page: () => ReceivedPage) => {
    address.spend();
    if (refusing.has(name)) throw new Fault('unauthorized', 'the token was refused');
    await clock.wait(pageMillis);
    return page();
  };
  const source = (name: SourceName, pages = 1): SyncSource => {
    const feed: Feed = { page: (position) => ask(name, () => pageOf(position, pages)) };
    return {
      identity: { name, fingerprint: 'f1' },
      feed: () => feed,
      ...(identity === 'kept'
        ? {
            mayReadIdentity: async () => {
              address.spend();
              await clock.wait(pageMillis);
              return true;
            },
          }
        : {}),
      ...(identity === 'no longer kept' ? { dropsIdentity: true, mayReadIdentity: async () => false } : {}),
      limits: () => [address.limit()],
    };
  };
  const sync = createSync({
    clock,
    random: testRandom(),
    logger: silentLogger,
    mirror,
    holder: 'test',
    sources: names.map((name) => source(name)),
    lastTicks: async () => last,
    addressLeft: () => address.limit(),
    options: {
      intervalMillis: 60 * second,
      idleIntervalMillis: 180 * second,
      concurrency: 4,
      brake: { share: 0.2, rows: 50 },
      backoff: { baseMillis: 5_000, capMillis: 600_000 },
      leaseRenewMillis: 10_000,
      shares: (sources) => sharesFor(sources, wanted),
    },
  });
  open.push({ sync, clock });
  /** When each source was last read, at first by the process before; the longest time between two reads. */
  const readAt = new Map<SourceName, number>();
  let longest = 0;
  const ticks: Seen[] = [];
  const answered = new Map<SourceName, number>();
  sync.onTick((name, { report }) => {
    const now = clock.now();
    if (report.outcome !== 'done') return;
    ticks.push({ begun: now - report.tookMs, trigger: report.trigger });
    longest = Math.max(longest, now - (readAt.get(name) ?? now));
    readAt.set(name, now);
    answered.set(name, now);
  });
  return {
    ...{ clock, address, sync, names, mirror, source, ticks, answered, readAt },
    longest: () => longest,
    refuse: (name: SourceName) => void refusing.add(name),
    accept: (name: SourceName) => void refusing.delete(name),
  };
}

function pageOf(position: Position, pages: number): ReceivedPage {
  const isListing = position.kind === 'start' || position.kind === 'page';
  const no = position.kind === 'page' ? Number(position.token) : 0;
  const hasMore = isListing && no + 1 < pages;
  return received({
    mode: isListing ? 'listing' : 'delta',
    size: 0,
    items: [],
    hasMore,
    next: hasMore ? String(no + 1) : 'c',
    publishedThrough: null,
  });
}

const count = 4_000;
const shares = sharesFor(count, wanted);
/** The bound that docs/operating.md states: 2.25 intervals, and the turn of a listing. */
const starvedMillisMax = 2.25 * shares.intervalMillis + listingTurnMillis;

test('crowd: sources without names are read as often as others, because no request checks their grant', async () => {
  const { intervalMillis } = sharesFor(1_000, wanted);
  const start = new CrowdClock().now();
  const ages = (n: number) => (n / 1_000) * intervalMillis;
  const w = world(
    1_000,
    (n) => ({ endedAt: instantFromMillis(start - ages(n)), follows: true }),
    'never kept',
  );
  w.sync.start();
  await w.clock.advance(2 * intervalMillis);
  w.ticks.length = 0;
  await w.clock.advance(4 * intervalMillis);
  expect(w.ticks.length).toBeGreaterThan(0.9 * 4 * 1_000);
});

test('crowd: names that are no longer kept are erased with the first tick of each source, which is one request', async () => {
  const { intervalMillis } = sharesFor(1_000, wanted);
  const start = new CrowdClock().now();
  const endedAt = instantFromMillis(start - 1.2 * intervalMillis);
  const w = world(1_000, () => ({ endedAt, follows: true }), 'no longer kept');
  w.sync.start();
  // The burst is half of them, and the others take a fifth of an hour.
  await w.clock.advance(15 * minute);
  expect(w.ticks).toHaveLength(1_000);
  const kept = [...w.mirror.sources.values()].filter(({ identity }) => identity);
  expect(kept.length).toBe(0);
});

test('crowd: 4,000 sources whose ticks are spread start with those that are due, and each is read within the bound', async () => {
  const ages = (n: number) => (n / count) * 1.2 * shares.intervalMillis;
  const start = new CrowdClock().now();
  const w = world(count, (n) => ({ endedAt: instantFromMillis(start - ages(n)), follows: true }));
  for (const [n, name] of w.names.entries()) w.readAt.set(name, start - ages(n));
  w.sync.start();
  await w.clock.advance(second);
  // A fifth is older than the interval; their first ticks also check the grant.
  expect(w.address.most()).toBeLessThanOrEqual(addressPerHour * 0.1 + 10);

  const waits: number[] = [];
  for (let passed = 0; passed < 5.5 * hour; passed += 30 * second) {
    const name = w.names[Math.floor(picks.fraction() * w.names.length)] as SourceName;
    const nudgedAt = w.clock.now();
    w.sync.nudge(name);
    await w.clock.advance(30 * second);
    waits.push((w.answered.get(name) ?? Number.POSITIVE_INFINITY) - nudgedAt);
  }
  expect(w.readAt.size).toBe(count);
  expect(w.longest()).toBeLessThanOrEqual(starvedMillisMax);
  expect(w.address.refused).toBe(0);
  // Two fifths, a tenth, the burst, and 120 webhooks with the grant checks that they took along.
  expect(w.address.most()).toBeLessThanOrEqual(addressPerHour * 0.6 + 2 * 120);
  // A webhook waits for the page under way and for its own.
  expect(Math.max(...waits)).toBeLessThanOrEqual(5 * pageMillis);
  // Also the first tick of a source may use the reserve when a webhook starts it.
  const byWebhook = w.ticks.filter(({ trigger }) => trigger === 'webhook').length;
  expect(byWebhook).toBeGreaterThan(0.9 * waits.length);
});

test('crowd: secrets that are read again cost a request for halted and failing sources only, spread over time', async () => {
  const start = new CrowdClock().now();
  const w = world(4_000, () => ({ endedAt: instantFromMillis(start), follows: true }));
  w.sync.start();
  await w.clock.advance(second);
  // Nothing is due for a while.
  const before = w.address.most();
  const halted = new Set(w.names.filter((_, n) => n % 4 === 0));
  for (const name of halted) w.refuse(name);
  for (const name of halted) w.sync.nudge(name);
  await w.clock.advance(10 * minute);
  for (const name of halted) w.accept(name);
  const rechecked = new Set<SourceName>();
  w.sync.onTick((name, { report }) => void (report.trigger !== 'timer' && rechecked.add(name)));
  const spent = w.address.most();
  w.sync.secretsReread(w.names);
  w.sync.secretsReread(w.names);
  await w.clock.advance(minute);
  expect(before).toBeLessThanOrEqual(20);
  expect(w.address.most() - spent).toBeLessThanOrEqual(2 * (addressPerHour * 0.1 + 50));
  await w.clock.advance(30 * minute);
  expect([...rechecked].every((name) => halted.has(name))).toBe(true);
  expect(rechecked.size).toBe(halted.size);
});

test('crowd: after three days away every source is read once in the order of its last tick, within its bound', async () => {
  const start = new CrowdClock().now();
  const age = (n: number) => 72 * hour + (n % 100) * minute;
  const w = world(2_000, (n) => ({ endedAt: instantFromMillis(start - age(n)), follows: true }));
  const order: number[] = [];
  w.sync.onTick((name) => void order.push(Number(name.slice(1)) % 100));
  w.sync.start();
  const { intervalMillis } = sharesFor(2_000, wanted);
  await w.clock.advance(1.05 * intervalMillis + minute);
  expect(w.readAt.size).toBe(2_000);
  expect(w.address.refused).toBe(0);
  // The first four take the free slots. Jitter moves a source by a quarter of the interval, fifteen of these minutes.
  const early = order.slice(4, 200);
  expect(Math.min(...early)).toBeGreaterThan(50);
});

test('crowd: a webhook whose tick found the database locked has its tick once the lock is free, before all that is due', async () => {
  const start = new CrowdClock().now();
  const w = world(1_000, () => ({ endedAt: instantFromMillis(start - 72 * hour), follows: true }));
  w.sync.start();
  await w.clock.advance(30 * second);
  const name = w.names.find((one) => !w.answered.has(one)) as SourceName;
  const open = w.mirror.open.bind(w.mirror);
  let isLocked = true;
  w.mirror.open = async (source, ...rest) => {
    if (isLocked && source.name === name)
      throw new Fault('database_busy', 'another program holds the write lock');
    return await open(source, ...rest);
  };
  w.sync.nudge(name);
  await w.clock.advance(second);
  isLocked = false;
  const freedAt = w.clock.now();
  w.sync.databaseIsBack({ hasMissed: false });
  await w.clock.advance(5 * second);
  expect((w.answered.get(name) ?? Number.POSITIVE_INFINITY) - freedAt).toBeLessThanOrEqual(5 * pageMillis);
  expect(w.address.refused).toBe(0);
});

test('crowd: large newcomers list with what the others leave, and delay neither webhooks nor timed ticks beyond their bounds', async () => {
  const start = new CrowdClock().now();
  const few = sharesFor(1_000, wanted);
  const hours = 2;
  const w = world(1_000, (n) => ({
    endedAt: instantFromMillis(start - (n / 1_000) * few.intervalMillis),
    follows: true,
  }));
  w.sync.start();
  await w.clock.advance(10 * minute);
  const newcomers = Array.from({ length: 6 }, (_, n) => `new${n}` as SourceName);
  w.sync.add(newcomers.map((name) => w.source(name, 5_000)));
  const waits: number[] = [];
  for (let passed = 0; passed < hours * hour; passed += 20 * second) {
    const name = w.names[Math.floor(picks.fraction() * w.names.length)] as SourceName;
    const nudgedAt = w.clock.now();
    w.sync.nudge(name);
    await w.clock.advance(20 * second);
    waits.push((w.answered.get(name) ?? Number.POSITIVE_INFINITY) - nudgedAt);
  }
  expect(Math.max(...waits)).toBeLessThanOrEqual(5 * pageMillis);
  expect(w.address.refused).toBe(0);
  expect(w.longest()).toBeLessThanOrEqual(2.25 * few.intervalMillis + listingTurnMillis);
  const pages = newcomers.map((name) => {
    const { active } = w.mirror.of(name);
    return active.kind === 'listing' ? active.listing.pages : 0;
  });
  // None of the six is left behind, and together they use what is left.
  expect(Math.min(...pages)).toBeGreaterThan(0.5 * Math.max(...pages));
  expect(pages.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(hours * 0.25 * addressPerHour);
});
