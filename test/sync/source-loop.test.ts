import { beforeEach, describe, expect, test } from 'vitest';
import { instantFromMillis } from '../../src/domain/instant.js';
import type { Cursor } from '../../src/domain/position.js';
import { seededRandom } from '../../src/runtime/random.js';
import { nothingApplied, type Phase } from '../../src/sync/ports.js';
import { SourceLoop } from '../../src/sync/source-loop.js';
import type { TickResult } from '../../src/sync/tick-parts.js';
import type { SlotWish } from '../../src/sync/tick-slots.js';
import { settled, VirtualClock } from './support/virtual-clock.js';

/* What a loop wishes of the slots that the ticks of all sources share. */

const minute = 60_000;
let clock: VirtualClock;
let wishes: SlotWish[];
/** How the next ticks end; the last one stays. */
let results: TickResult[];
let loop: SourceLoop;

const phases = {
  listing: {
    kind: 'listing',
    listing: {
      kind: 'first',
      generation: 1,
      token: null,
      lowMark: null,
      pages: 1,
      rows: 1,
      final: null,
      restarts: 0,
      notBefore: null,
    },
  },
  following: { kind: 'following', cursor: 'c1' as Cursor, namesIncomplete: false, listed: null },
} as unknown as Readonly<Record<'listing' | 'following', Exclude<Phase, { kind: 'halted' }>>>;

const halted = (before: 'listing' | 'following'): Phase => ({
  kind: 'halted',
  code: 'forbidden',
  message: 'made up',
  at: instantFromMillis(clock.now()),
  before: phases[before],
});

const ended = (phase: Phase | null, outcome: 'done' | 'failed' = 'done'): TickResult => ({
  report: {
    trigger: 'timer',
    mode: 'delta',
    startedAt: instantFromMillis(clock.now()),
    tookMs: 1,
    pages: 1,
    applied: nothingApplied,
    outcome,
    code: phase?.kind === 'halted' ? phase.code : outcome === 'failed' ? 'unreachable' : null,
    message: null,
    retryAt: null,
  },
  phase,
  publishedThrough: null,
  grant: 'not_asked',
  recorded: true,
});

beforeEach(() => {
  clock = new VirtualClock();
  wishes = [];
  results = [ended(phases.following)];
  loop = new SourceLoop({
    rules: () => ({ intervalMillis: minute, idleIntervalMillis: minute }),
    budgets: () => [],
    clock,
    random: seededRandom(1),
    runQueued: async ({ wish, ask }) => {
      wishes.push(wish);
      if (ask() === null) return null;
      return (results.length > 1 ? results.shift() : results[0]) ?? null;
    },
    onWebhooksUntil: () => {},
    raise: () => {},
    withdraw: () => {},
    onIdle: () => {},
  });
});

/** Starts the loop and returns the wish of its first tick. */
async function first(): Promise<SlotWish | undefined> {
  loop.start();
  await settled();
  return wishes[0];
}

describe('whether a tick is known to list', () => {
  test('a source that is said to have a listing to read wishes for one until a tick found out', async () => {
    loop.dueWithin(0, { lists: true });
    expect(await first()).toMatchObject({ lists: true });
    await clock.advance(2 * minute);
    expect(wishes[1]).toMatchObject({ lists: false });
  });

  test('nothing is known of a source of which nothing was said, and a later word that says nothing keeps what is known', async () => {
    expect(await first()).toMatchObject({ lists: false });
    loop.dueWithin(minute, { lists: true });
    loop.dueWithin(0);
    await settled();
    expect(wishes[1]).toMatchObject({ lists: true });
  });

  test.each([
    ['in the middle of a listing', () => ended(phases.listing, 'failed'), true],
    ['halted in the middle of a listing', () => ended(halted('listing'), 'failed'), true],
    ['halted while it followed', () => ended(halted('following'), 'failed'), false],
    ['following', () => ended(phases.following), false],
  ])('a source that is %s says so with its next tick', async (_, end, lists) => {
    results = [end()];
    await first();
    await clock.advance(10 * minute);
    expect(wishes[1]).toMatchObject({ lists });
  });

  test('a tick that could not open its source changes nothing of what is known', async () => {
    results = [ended(phases.listing, 'failed'), ended(null, 'failed'), ended(phases.following)];
    await first();
    await clock.advance(3 * minute);
    expect(wishes.slice(1, 3)).toMatchObject([{ lists: true }, { lists: true }]);
  });
});

describe('since when a tick is due', () => {
  test('a timed tick since its timer, also when the timer was set in the past; a webhook’s since now', async () => {
    await first();
    loop.dueWithin(-5 * minute);
    await settled();
    expect(wishes[1]).toMatchObject({ urgent: false, dueAt: clock.monotonic() - 5 * minute });
    await clock.advance(1_000);
    loop.nudge();
    await settled();
    expect(wishes[2]).toMatchObject({ urgent: true, dueAt: clock.monotonic() });
  });
});

describe('what else the slots are told', () => {
  test('a timed look at a halted source sends nothing, but a tick that a user asked for does', async () => {
    results = [ended(halted('following'), 'failed')];
    await first();
    expect(loop.isIll).toBe(true);
    await clock.advance(6 * minute);
    expect(wishes[1]).toMatchObject({ looks: true, isManual: false });
    const asked = loop.ask({});
    await settled();
    expect(wishes.at(-1)).toMatchObject({ looks: false, urgent: true, isManual: true });
    expect((await asked).phase?.kind).toBe('halted');
  });

  test('a healthy source looks at nothing', async () => {
    expect(await first()).toMatchObject({ looks: false });
    expect(loop.isIll).toBe(false);
    results = [ended(phases.following, 'failed')];
    await clock.advance(2 * minute);
    expect(loop.isIll, 'its last tick failed').toBe(true);
  });
});
