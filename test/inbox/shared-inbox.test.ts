import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { EventId, SourceName } from '../../src/domain/ids.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { createDrain, type Drain } from '../../src/inbox/drain.js';
import { type Lane, laneOf, type Others, ownLane, type Ticked, type Ticks } from '../../src/inbox/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';
import { MemoryInbox } from './support/memory-inbox.js';

const acme = 'acme' as SourceName;
const beta = 'beta' as SourceName;
const both = 'acme,beta' as Lane;

let clock: VirtualClock;
let inbox: MemoryInbox;
let number: number;
let open: Drain[];
let alone: boolean;
/** What was logged as a warning and is not expected by the test. */
const warned: unknown[][] = [];
const logger = { ...silentLogger, warn: (...line: unknown[]) => void warned.push(line) };

beforeEach(() => {
  clock = new VirtualClock();
  inbox = new MemoryInbox();
  number = 0;
  open = [];
  alone = false;
});

afterEach(async () => {
  await Promise.all(open.map((drain) => drain.close()));
  expect(clock.sleeping).toBe(0);
  expect(warned.splice(0)).toEqual([]);
});

/** One of two daemons that share the inbox. */
function daemon(works: readonly SourceName[], knows: readonly SourceName[] = [acme, beta]) {
  const nudged: SourceName[] = [];
  const sent: string[] = [];
  let tick: (source: SourceName, ticked: Ticked) => void = () => {};
  const ticks: Ticks = {
    nudge: (source) => void nudged.push(source),
    onTick: (listener) => {
      tick = listener;
      return () => {};
    },
  };
  const others: Others = {
    worksHere: (source) => works.includes(source),
    alone: () => alone,
    announceAccepted: (lane) => void sent.push(`accepted ${lane}`),
    announceTicked: (source) => void sent.push(`ticked ${source}`),
  };
  const drain = createDrain({ inbox, ticks, clock, logger, sources: knows, others });
  open.push(drain);
  const end = async (source: SourceName, more: Partial<Ticked> = {}) => {
    const proof = { startedAt: now(), publishedThrough: now(), ...more };
    // Committed, even if the message is lost.
    inbox.proofs.set(source, proof);
    tick(source, { done: true, ...proof });
    await settled();
  };
  return { drain, nudged, sent, end };
}

const now = () => instantFromMillis(clock.now());

async function store(sources: readonly SourceName[], more: { at?: number; observed?: boolean } = {}) {
  number += 1;
  const at = instantFromMillis(more.at ?? clock.now());
  await inbox.accept({
    eventId: `evt_${number}` as EventId,
    installation: '',
    event: 'investment.changed',
    company: null,
    investment: null,
    test: false,
    observedAt: more.observed === false ? null : at,
    receivedAt: at,
    body: '{}',
    lane: laneOf(sources),
  });
}

test("shared inbox: a delivery for another daemon's source is announced and worked there", async () => {
  const [here, there] = [daemon([acme]), daemon([beta])];
  await store([beta]);
  here.drain.accepted([beta]);
  expect([here.nudged, here.sent]).toEqual([[], ['accepted beta']]);
  there.drain.heardAccepted(ownLane(beta));
  expect(there.nudged).toEqual([beta]);
  await there.end(beta);
  expect(await inbox.waiting()).toEqual([]);
  const read = vi.spyOn(inbox, 'pending');
  here.drain.heardTicked(beta);
  await settled();
  expect(read, 'the daemon that read it has settled').not.toHaveBeenCalled();
});

test('shared inbox: a delivery for sources of this daemon alone, and its tick, are not announced', async () => {
  const here = daemon([acme]);
  await store([acme]);
  here.drain.accepted([acme]);
  await here.end(acme);
  expect(inbox.states()).toEqual(['worked']);
  expect(here.sent).toEqual([]);
});

test('shared inbox: a delivery for sources of both daemons is worked when both were read, in any order', async () => {
  const [here, there] = [daemon([acme]), daemon([beta])];
  await store([acme, beta]);
  here.drain.accepted([acme, beta]);
  there.drain.heardAccepted(both);
  expect([here.nudged, there.nudged]).toEqual([[acme], [beta]]);
  await here.end(acme);
  expect(await inbox.waiting()).toHaveLength(1);
  expect(here.sent).toEqual([`accepted ${both}`, 'ticked acme']);
  await there.end(beta);
  expect(await inbox.waiting()).toEqual([]);
});

test("shared inbox: the daemon that read first settles when it hears of the other's tick, if that really ended", async () => {
  const [here, there] = [daemon([acme]), daemon([beta])];
  await store([acme, beta]);
  here.drain.accepted([acme, beta]);
  await here.end(acme);
  for (let times = 0; times < 3; times += 1) here.drain.heardTicked(beta);
  await settled();
  expect(inbox.states()).toEqual(['pending']);
  await there.end(beta);
  here.drain.heardTicked(beta);
  await settled();
  expect(inbox.states()).toEqual(['worked']);
});

test("shared inbox: a lost message about the other source's tick is found by looking", async () => {
  const [here, there] = [daemon([acme]), daemon([beta])];
  await store([acme, beta]);
  here.drain.accepted([acme, beta]);
  await here.end(acme);
  await here.drain.look();
  await settled();
  expect(inbox.states()).toEqual(['pending']);
  inbox.proofs.set(beta, { startedAt: now(), publishedThrough: now() });
  await here.drain.look();
  await settled();
  expect(inbox.states()).toEqual(['worked']);
  expect(there.nudged).toEqual([]);
});

test('shared inbox: repeated messages about a tick are looked up one at a time', async () => {
  const here = daemon([acme]);
  await store([acme, beta]);
  here.drain.accepted([acme, beta]);
  await here.end(acme);
  const asked = vi.spyOn(inbox, 'proofOf');
  for (let times = 0; times < 1_000; times += 1) here.drain.heardTicked(beta);
  await settled();
  expect(asked.mock.calls.length).toBeLessThanOrEqual(2);
});

test('shared inbox: a lane of all sources asks for one that was not read since, and not for all at each tick', async () => {
  const far = Array.from({ length: 300 }, (_, no) => `company-${no}` as SourceName);
  const all = [acme, beta, ...far];
  const here = daemon([acme, beta], all);
  const read = (sources: readonly SourceName[]) => {
    for (const source of sources) inbox.proofs.set(source, { startedAt: now(), publishedThrough: now() });
  };
  await here.end(acme);
  await here.end(beta);
  read(far);
  await clock.advance(1_000);
  await store(all);
  const asked = vi.spyOn(inbox, 'proofOf');
  here.drain.accepted(all);
  await here.end(acme);
  expect(asked.mock.calls.length).toBe(0);
  await here.end(beta);
  for (let times = 0; times < 9; times += 1) await here.end(acme);
  expect(asked.mock.calls.length).toBe(10);
  read(far.filter((source) => source !== 'company-299'));
  await here.end(acme);
  asked.mockClear();
  for (let times = 0; times < 9; times += 1) await here.end(acme);
  expect(asked.mock.calls.length).toBe(9);
  expect(inbox.states()).toEqual(['pending']);
  read(far);
  here.drain.heardTicked('company-299' as SourceName);
  await settled();
  expect(inbox.states()).toEqual(['worked']);
});

test('shared inbox: an event that the feed does not show yet has no other source asked for before its next attempt', async () => {
  const here = daemon([acme]);
  const early = now();
  await clock.advance(1_000);
  await store([acme, beta]);
  here.drain.accepted([acme, beta]);
  inbox.proofs.set(beta, { startedAt: now(), publishedThrough: early });
  const asked = vi.spyOn(inbox, 'proofOf');
  await here.end(acme, { publishedThrough: early });
  expect([inbox.rows[0]?.attempts, asked.mock.calls.length]).toEqual([1, 1]);
  for (let times = 0; times < 9; times += 1) await here.end(acme, { publishedThrough: early });
  expect([inbox.rows[0]?.attempts, asked.mock.calls.length]).toEqual([1, 1]);
  await clock.advance(2_000);
  inbox.proofs.set(beta, { startedAt: now(), publishedThrough: now() });
  await here.end(acme);
  expect(inbox.states()).toEqual(['worked']);
});

test('shared inbox: made-up lanes are dropped with the next tick', async () => {
  const here = daemon([acme]);
  for (let n = 0; n < 100; n += 1) here.drain.heardAccepted(`acme,made-up-${n}` as Lane);
  here.drain.heardAccepted('made-up' as Lane);
  const asked = vi.spyOn(inbox, 'pending');
  await here.end(acme);
  expect(asked.mock.calls.length).toBe(101);
  await here.end(acme);
  expect(asked.mock.calls.length).toBe(102);
});

test('shared inbox: an event accepted while its lane is found empty is settled by the next tick', async () => {
  const both = daemon([acme, beta]);
  await both.end(beta);
  both.drain.heardAccepted('acme,beta' as Lane);
  let looks = 0;
  vi.spyOn(inbox, 'waiting').mockImplementation(async () => {
    const look = ++looks;
    const seen = await MemoryInbox.prototype.waiting.call(inbox);
    // Only the lane of `acme` is read first.
    if (look === 2) {
      await store([acme, beta]);
      both.drain.accepted([acme, beta]);
    }
    return seen;
  });
  await both.end(acme);
  await clock.advance(1);
  await both.end(beta);
  await both.end(acme);
  expect(inbox.states()).toEqual(['worked']);
});

test('shared inbox: an unannounced event is found by looking, and looked up once', async () => {
  const { drain, nudged, end } = daemon([acme]);
  await store([acme]);
  await store([beta]);
  const read = vi.spyOn(inbox, 'pending');
  await drain.look();
  await settled();
  expect(nudged).toEqual([acme]);
  expect(read, 'no tick has proven anything').not.toHaveBeenCalled();
  await clock.advance(1);
  await end(acme, { publishedThrough: '2000-01-01T00:00:00.000Z' as never });
  await drain.look();
  expect(nudged).toEqual([acme]);
});

test('shared inbox: an event whose source was read since is settled by that tick, and looking nudges nothing', async () => {
  const { drain, nudged, end } = daemon([acme]);
  await store([acme]);
  inbox.failure = new Error('made up');
  await end(acme);
  expect(warned.splice(0)).toHaveLength(1);
  inbox.failure = undefined;
  const read = vi.spyOn(inbox, 'pending');
  await drain.look();
  await settled();
  expect(nudged).toEqual([]);
  expect(read, 'it is retried as announced').not.toHaveBeenCalled();
  await clock.advance(5_000);
  expect(inbox.states()).toEqual(['worked']);
});

test('shared inbox: an event behind 500 that a tick proves nothing about is worked by it', async () => {
  const here = daemon([acme]);
  const early = now();
  const read = { startedAt: early, publishedThrough: early };
  await clock.advance(1_000);
  for (let times = 0; times < 500; times += 1) await store([acme, beta]);
  await store([acme, beta], { at: clock.now() - 1_000 });
  inbox.proofs.set(beta, read);
  here.drain.accepted([acme, beta]);
  await here.end(acme, read);
  expect(inbox.states().slice(-2)).toEqual(['pending', 'worked']);
});

test('shared inbox: a source that changes hands while its proof is read counts as one of another clock', async () => {
  const works = [acme];
  const { drain, end } = daemon(works);
  await store([acme, beta], { observed: false });
  drain.accepted([acme, beta]);
  await clock.advance(30_000);
  vi.spyOn(inbox, 'proofOf').mockImplementation(async () => {
    works.push(beta);
    alone = true;
    return { startedAt: now(), publishedThrough: now() };
  });
  await end(acme);
  expect(inbox.states()).toEqual(['pending']);
});

test('shared inbox: an event without a platform time is not proven by clocks that may differ', async () => {
  const { end } = daemon([acme]);
  await store([acme], { observed: false });
  await clock.advance(59_999);
  await end(acme);
  expect(await inbox.waiting()).toHaveLength(1);
  await clock.advance(1);
  await end(acme);
  expect(await inbox.waiting()).toEqual([]);
});

test('shared inbox: deliveries for a source that only another daemon knows are left to it', async () => {
  const { drain } = daemon([acme], [acme]);
  await store([beta]);
  await drain.start();
  await settled();
  expect(inbox.states()).toEqual(['pending']);
  await clock.advance(25 * 3_600_000);
  await drain.look();
  await settled();
  expect(inbox.states()).toEqual(['pending']);
});

test('shared inbox: deliveries for a source that no daemon knows are ignored after a day', async () => {
  alone = true;
  const { drain } = daemon([acme], [acme]);
  await store([beta]);
  await drain.start();
  await settled();
  expect(inbox.states()).toEqual(['pending']);
  await clock.advance(24 * 3_600_000);
  await drain.look();
  await settled();
  expect(inbox.states()).toEqual(['ignored']);
});

test('shared inbox: events of a removed source are ignored, although another daemon may know sources that this one never knew', async () => {
  const { drain } = daemon([acme]);
  await store([acme]);
  drain.heardAccepted(ownLane(acme));
  drain.removed([acme]);
  await settled();
  expect(inbox.states()).toEqual(['ignored']);
  await store(['gamma' as SourceName]);
  await drain.look();
  await settled();
  expect(inbox.states()).toEqual(['ignored', 'pending']);
});
