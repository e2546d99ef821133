import { describe, expect, test } from 'vitest';
import { type FaultCode, reaction } from '../../src/domain/fault.js';
import { type Instant, instantFromMillis } from '../../src/domain/instant.js';
import type { Cursor, PageToken, Position } from '../../src/domain/position.js';
import { emptyPagesInRowMax } from '../../src/sync/advance.js';
import { decide, tickStart } from '../../src/sync/decide.js';
import type { PageSeen } from '../../src/sync/page-seen.js';
import type { Active, ListingProgress, Phase } from '../../src/sync/ports.js';
import type { Effect, TickEvent, TickState } from '../../src/sync/tick-state.js';

const now = Date.parse('2026-11-01T12:00:00Z');
const hour = 3_600_000;
const ago = (millis: number): Instant => instantFromMillis(now - millis);
const cursor = 'c1' as Cursor;
const lowMark = '2026-11-01T10:00:00.000Z' as Instant;

const listing: ListingProgress = {
  kind: 'first',
  generation: 1,
  token: 'p1' as PageToken,
  lowMark,
  pages: 1,
  rows: 100,
  final: null,
  restarts: 0,
  notBefore: null,
};
const complete: ListingProgress = { ...listing, kind: 'relist', token: null, final: 'f1' as Cursor };
const listed = { at: ago(48 * hour), restarts: 0 };
const following: Active = { kind: 'following', cursor, listed, namesIncomplete: false };
const since: Position = { kind: 'since', time: lowMark };

const states: Record<Phase['kind'], Phase> = {
  empty: { kind: 'empty' },
  listing: { kind: 'listing', listing },
  sweeping: { kind: 'sweeping', since, cursor: 'f1' as Cursor, listed },
  following,
  halted: { kind: 'halted', code: 'reauthorize', message: 'revoked', at: ago(hour / 2), before: following },
};

const page = (over: Partial<PageSeen> = {}): PageSeen => ({
  mode: 'delta',
  hasMore: true,
  next: 'n1',
  items: 1,
  ...over,
});

const failure = (code: FaultCode): TickEvent => ({
  kind: 'failed',
  failure: { code, message: 'made up', hint: 'do this', retryAt: instantFromMillis(now + 5000) },
});

const events: Record<TickEvent['kind'], TickEvent> = {
  tick_asked: { kind: 'tick_asked', trigger: 'timer' },
  resync_asked: { kind: 'resync_asked' },
  deletions_accepted: { kind: 'deletions_accepted' },
  filters_changed: { kind: 'filters_changed' },
  listing_begun: { kind: 'listing_begun', listing: { ...listing, token: null, pages: 0, rows: 0 } },
  page_arrived: { kind: 'page_arrived', asked: { kind: 'cursor', cursor }, page: page() },
  listing_page_stored: { kind: 'listing_page_stored', listing: { ...listing, token: 'p2' as PageToken } },
  delta_page_applied: {
    kind: 'delta_page_applied',
    reached: { kind: 'following', cursor: 'n1' as Cursor },
    hasMore: false,
  },
  published: { kind: 'published' },
  awaiting_deleted: { kind: 'awaiting_deleted' },
  gone: { kind: 'gone', asked: { kind: 'cursor', cursor } },
  failed: failure('unreachable'),
  stop_asked: { kind: 'stop_asked' },
};

/** Returns the next phase, then the effects. An impossible event is a bug and throws. */
type Expected = `${Phase['kind']}: ${string}` | 'impossible';

const table: Record<Phase['kind'], Record<TickEvent['kind'], Expected>> = {
  empty: {
    tick_asked: 'empty: begin first, at once',
    resync_asked: 'empty: begin first, at once',
    deletions_accepted: 'empty: begin first, at once',
    filters_changed: 'empty: begin first, at once',
    listing_begun: 'listing: fetch start',
    page_arrived: 'impossible',
    listing_page_stored: 'impossible',
    delta_page_applied: 'impossible',
    published: 'impossible',
    awaiting_deleted: 'empty: begin first, at once',
    gone: 'impossible',
    failed: 'empty: finish failed unreachable, retry',
    stop_asked: 'empty: finish stopped',
  },
  listing: {
    tick_asked: 'listing: fetch page p1',
    resync_asked: 'listing: begin first, at once',
    deletions_accepted: 'listing: fetch page p1',
    filters_changed: 'halted: finish failed filters_changed, halt',
    listing_begun: 'listing: fetch start',
    page_arrived: 'listing: finish failed contract_broken, retry',
    listing_page_stored: 'listing: fetch page p2',
    delta_page_applied: 'impossible',
    published: 'impossible',
    awaiting_deleted: 'listing: fetch page p1',
    gone: 'listing: begin first, in 60 s',
    failed: 'listing: finish failed unreachable, retry',
    stop_asked: 'listing: finish stopped',
  },
  sweeping: {
    tick_asked: `sweeping: fetch since ${lowMark}`,
    resync_asked: 'sweeping: begin relist, at once',
    deletions_accepted: 'sweeping: delete awaiting',
    filters_changed: 'halted: finish failed filters_changed, halt',
    listing_begun: 'listing: fetch start',
    page_arrived: 'sweeping: apply sweeping n1 + ahead cursor n1',
    listing_page_stored: 'impossible',
    delta_page_applied: 'following: finish done',
    published: 'impossible',
    awaiting_deleted: `sweeping: fetch since ${lowMark}`,
    gone: 'sweeping: begin relist, at once',
    failed: 'sweeping: finish failed unreachable, retry',
    stop_asked: 'sweeping: finish stopped',
  },
  following: {
    tick_asked: 'following: fetch cursor c1',
    resync_asked: 'following: begin relist, at once',
    deletions_accepted: 'following: delete awaiting',
    filters_changed: 'halted: finish failed filters_changed, halt',
    listing_begun: 'listing: fetch start',
    page_arrived: 'following: apply following n1 + ahead cursor n1',
    listing_page_stored: 'impossible',
    delta_page_applied: 'following: finish done',
    published: 'impossible',
    awaiting_deleted: 'following: fetch cursor c1',
    gone: 'following: begin relist, at once',
    failed: 'following: finish failed unreachable, retry',
    stop_asked: 'following: finish stopped',
  },
  halted: {
    tick_asked: 'halted: remain failed reauthorize',
    resync_asked: 'following: begin relist, at once',
    deletions_accepted: 'following: delete awaiting',
    filters_changed: 'halted: finish failed filters_changed, halt',
    listing_begun: 'listing: fetch start',
    page_arrived: 'impossible',
    listing_page_stored: 'impossible',
    delta_page_applied: 'impossible',
    published: 'impossible',
    awaiting_deleted: 'impossible',
    gone: 'impossible',
    failed: 'halted: finish failed unreachable, retry',
    stop_asked: 'halted: finish stopped',
  },
};

const positionText = (position: Position): string =>
  [position.kind, ...Object.values(position).slice(1)].join(' ');

function effectText(effect: Effect): string {
  switch (effect.kind) {
    case 'begin_listing': {
      const { kind, notBefore } = effect.start;
      const when = notBefore === null ? 'at once' : `in ${(Date.parse(notBefore) - now) / 1000} s`;
      return `begin ${kind}, ${when}`;
    }
    case 'fetch':
      return `fetch ${positionText(effect.position)}`;
    case 'prefetch':
      return `ahead ${positionText(effect.position)}`;
    case 'store_listing_page':
      return 'store';
    case 'apply_page':
      return `apply ${effect.reached.kind} ${effect.reached.cursor}`;
    case 'delete_awaiting':
      return 'delete awaiting';
    case 'publish':
      return `publish ${effect.final}${effect.accepted ? ', accepted' : ''}`;
    case 'finish': {
      const { outcome, code, retryAt } = effect.end;
      const named = code === null || outcome === 'stopped' ? outcome : `${outcome} ${code}`;
      return `finish ${named}${retryAt === null ? '' : ', retry'}${effect.halt === null ? '' : ', halt'}`;
    }
    case 'remain_halted':
      return `remain ${effect.end.outcome} ${effect.end.code}${effect.end.retryAt === null ? '' : ', retry'}`;
  }
}

function outcome(state: TickState, event: TickEvent): string {
  try {
    const { next, effects } = decide(state, event, now);
    return `${next.phase.kind}: ${effects.map(effectText).join(' + ')}`;
  } catch (error) {
    if (error instanceof Error && /cannot happen|before its last page|before its halt/.test(error.message))
      return 'impossible';
    throw error;
  }
}

const answer = (phase: Phase, event: TickEvent) => outcome(tickStart(phase), event);

describe('decide: every event in every state', () => {
  for (const [state, answers] of Object.entries(table) as [Phase['kind'], (typeof table)['empty']][])
    for (const [event, expected] of Object.entries(answers) as [TickEvent['kind'], Expected][])
      test(`decide: ${state}, ${event} → ${expected}`, () => {
        expect(answer(states[state], events[event])).toBe(expected);
      });
});

describe('decide: the first action of a tick', () => {
  const startOf = (over: Partial<ListingProgress>): Phase => ({
    kind: 'listing',
    listing: { ...listing, token: null, ...over },
  });

  test('decide: a complete but unpublished listing is published, not read again', () => {
    expect(answer({ kind: 'listing', listing: complete }, events.tick_asked)).toBe('listing: publish f1');
  });

  test('decide: changed filters begin a first listing anew while none of its pages was read, also after a halt', () => {
    const unread = startOf({ pages: 0, rows: 0 }) as Active;
    const halted = (before: Active): Phase => ({
      kind: 'halted',
      code: 'refused',
      message: 'no such company',
      at: ago(1),
      before,
    });
    expect(answer(unread, events.filters_changed)).toBe('listing: begin first, at once');
    expect(answer(halted(unread), events.filters_changed)).toBe('listing: begin first, at once');
    expect(answer(halted({ kind: 'empty' }), events.filters_changed)).toBe('empty: begin first, at once');
    const relisting = { kind: 'listing', listing: { ...listing, kind: 'relist', pages: 0 } } as const;
    expect(answer(relisting, events.filters_changed)).toBe('halted: finish failed filters_changed, halt');
  });

  test('decide: a listing that waits for its next start sends no request', () => {
    const waiting = startOf({ restarts: 2, notBefore: instantFromMillis(now + 1) });
    expect(answer(waiting, events.tick_asked)).toBe('listing: finish waiting cursor_expired, retry');
    expect(answer(startOf({ restarts: 2, notBefore: ago(0) }), events.tick_asked)).toBe(
      'listing: fetch start',
    );
  });

  test('decide: a listing starts when its start is further off than any spacing, because the clock was set back', () => {
    const inHours = (hours: number) => instantFromMillis(now + hours * 3_600_000);
    expect(answer(startOf({ restarts: 2, notBefore: inHours(4) }), events.tick_asked)).toBe(
      'listing: finish waiting cursor_expired, retry',
    );
    expect(answer(startOf({ restarts: 2, notBefore: inHours(5) }), events.tick_asked)).toBe(
      'listing: fetch start',
    );
  });

  test('decide: a listing without a low mark sweeps from its own final position', () => {
    const unmarked: Phase = { kind: 'listing', listing: { ...complete, lowMark: null } };
    expect(answer(unmarked, events.published)).toBe('sweeping: fetch cursor f1');
  });

  test('decide: a resync restarts a first listing as such and relists published rows', () => {
    const relisting: Phase = { kind: 'listing', listing: { ...listing, kind: 'relist' } };
    expect(answer(relisting, events.resync_asked)).toBe('listing: begin relist, at once');
    expect(answer(states.listing, events.resync_asked)).toBe('listing: begin first, at once');
  });

  test('decide: only a manual tick, a restart, or a nudge after an hour retries a halted source', () => {
    const halted = (at: Instant): Phase => ({ ...states.halted, at }) as Phase;
    const tick = (trigger: 'start' | 'timer' | 'webhook' | 'manual'): TickEvent => ({
      kind: 'tick_asked',
      trigger,
    });
    for (const trigger of ['start', 'manual'] as const)
      expect(answer(halted(ago(0)), tick(trigger))).toBe('following: fetch cursor c1');
    expect(answer(halted(ago(hour - 1)), tick('webhook'))).toContain('remain');
    expect(answer(halted(ago(hour)), tick('webhook'))).toBe('following: fetch cursor c1');
    expect(answer(halted(ago(-1)), tick('webhook'))).toContain('remain');
    // The clock was a month ahead.
    expect(answer(halted(ago(-720 * hour)), tick('webhook'))).toBe('following: fetch cursor c1');
    expect(answer(halted(ago(1000 * hour)), tick('timer'))).toContain('remain');
  });

  test('decide: a retry that the platform does not answer leaves the source halted, and an answer ends the halt', () => {
    const { next } = decide(tickStart(states.halted), { kind: 'tick_asked', trigger: 'start' }, now);
    expect(outcome(next, failure('unreachable'))).toBe('halted: remain failed unreachable, retry');
    expect(outcome(next, failure('forbidden'))).toBe('halted: finish failed forbidden, halt');
    expect(outcome(next, events.stop_asked)).toBe('halted: remain stopped stopped');
    const answered = decide(next, events.page_arrived, now).next;
    expect(outcome(answered, failure('unreachable'))).toBe('following: finish failed unreachable, retry');
  });
});

describe('decide: accepted deletions', () => {
  const relisting = (over: Partial<ListingProgress>): Phase => ({
    kind: 'listing',
    listing: { ...listing, kind: 'relist', ...over },
  });
  const behind = (phase: Phase, ...events: readonly TickEvent[]) => {
    let state = tickStart(phase, { acceptDeletions: true });
    let last = '';
    for (const event of events) {
      const decision = decide(state, event, now);
      state = decision.next;
      last = decision.effects.map(effectText).join(' + ');
    }
    return { last, covers: state.acceptDeletions };
  };
  const { deletions_accepted, awaiting_deleted, resync_asked, published } = events;

  test('accepted deletions delete the rows now awaiting deletion and do not cover an unfinished listing', () => {
    const { last, covers } = behind(relisting({}), deletions_accepted, awaiting_deleted);
    expect(last).toBe('fetch page p1');
    expect(covers).toBe(false);
  });

  test('accepted deletions cover a listing that was complete already, as versions before 0.2 left it at the brake', () => {
    const complete = relisting({ token: null, final: 'f1' as Cursor });
    expect(behind(complete, deletions_accepted, awaiting_deleted).last).toBe('publish f1, accepted');
  });

  test('accepted deletions cover the listing requested in the same command, and none after it', () => {
    expect(behind(following, resync_asked).covers).toBe(true);
    const complete = relisting({ token: null, final: 'f1' as Cursor });
    expect(behind(complete, published).covers).toBe(false);
  });

  test('a confirmed number of rows approves no listing, not even a complete one', () => {
    const confirmed: TickEvent = { kind: 'deletions_accepted', rows: 3 };
    const decision = decide(tickStart(following), confirmed, now);
    expect(decision.effects).toEqual([{ kind: 'delete_awaiting', rows: 3 }]);
    const complete = relisting({ token: null, final: 'f1' as Cursor });
    let state = tickStart(complete);
    for (const event of [confirmed, awaiting_deleted]) state = decide(state, event, now).next;
    expect(state.acceptDeletions).toBe(false);
  });

  test('accepted deletions have no effect on a first listing', () => {
    expect(behind(states.listing, deletions_accepted).last).toBe('fetch page p1');
  });
});

describe('decide: incomplete names', () => {
  const nameless = (hours: number, restarts: number): Phase => ({
    ...following,
    listed: { at: ago(hours * hour), restarts },
    namesIncomplete: true,
  });

  test('incomplete names are relisted at once the first times, then with the spacing of a 410', () => {
    const tries = [0, 1, 2, 3, 4, 50].map((restarts) =>
      [0, 1 / 15, 1, 4].filter((hours) =>
        answer(nameless(hours, restarts), events.tick_asked).includes('begin relist, at once'),
      ),
    );
    expect(tries).toEqual([[0, 1 / 15, 1, 4], [0, 1 / 15, 1, 4], [1 / 15, 1, 4], [1, 4], [4], [4]]);
    expect(answer(nameless(0, 2), events.tick_asked)).toBe('following: fetch cursor c1');
  });

  test('incomplete names that come and go are relisted at most ten times on the first day and six on each following day', () => {
    let listings = 0;
    let { at, restarts } = listed;
    const begun: number[] = [];
    for (let minutes = 0; minutes < 3 * 24 * 60; minutes += 1) {
      const moment = now + minutes * 60_000;
      const phase: Phase = { ...following, listed: { at, restarts }, namesIncomplete: true };
      const [effect] = decide(tickStart(phase), events.tick_asked, moment).effects;
      if (effect?.kind !== 'begin_listing') continue;
      listings += 1;
      begun[Math.floor(minutes / 1440)] = (begun[Math.floor(minutes / 1440)] ?? 0) + 1;
      at = instantFromMillis(moment);
      restarts = effect.start.restarts;
    }
    expect(Math.max(...begun.slice(1))).toBeLessThanOrEqual(6);
    expect(begun[0]).toBeLessThanOrEqual(10);
    expect(listings).toBeGreaterThan(10);
  });

  test('incomplete names begin one listing per tick, whatever it brings', () => {
    const swept = decide(tickStart(states.sweeping), events.delta_page_applied, now).next.phase;
    expect(swept).toMatchObject({ kind: 'following', namesIncomplete: false });
  });

  test('incomplete names do not delay accepted deletions, which come first', () => {
    expect(answer(nameless(48, 0), events.deletions_accepted)).toBe('following: delete awaiting');
  });
});

describe('decide: a page', () => {
  const arrives = (phase: Phase, over: Partial<PageSeen>, asked: Position = { kind: 'cursor', cursor }) =>
    answer(phase, { kind: 'page_arrived', asked, page: page(over) });

  test('PAGE-03 CLIENT-04 decide: only has_more says whether another page follows', () => {
    expect(arrives(following, { hasMore: false })).toBe('following: apply following n1');
    expect(arrives(following, { hasMore: false, items: 0, next: 'c1' })).toBe(
      'following: apply following c1',
    );
    expect(arrives(following, { hasMore: true, items: 0 })).toContain('ahead cursor n1');
    expect(arrives(states.sweeping, { hasMore: false })).toBe('sweeping: apply following n1');
    const listingPage = { mode: 'listing', hasMore: true } as const;
    expect(arrives(states.listing, listingPage)).toBe('listing: store + ahead page n1');
    expect(arrives(states.listing, { ...listingPage, hasMore: false })).toBe('listing: store');
  });

  test('decide: a page of the other mode is a broken contract, whatever it contains', () => {
    expect(arrives(following, { mode: 'listing' })).toBe('following: finish failed contract_broken, retry');
    expect(arrives(states.listing, { mode: 'delta' })).toBe('listing: finish failed contract_broken, retry');
  });

  /** Feeds pages until an effect other than a commit is decided. The positions repeat with the given period. */
  function pagesRead(period: number, items = 1): number {
    let state = tickStart(following);
    let asked: Position = { kind: 'cursor', cursor };
    for (let read = 1; read <= 1000; read += 1) {
      const next = `n${read % period}`;
      const decision = decide(state, { kind: 'page_arrived', asked, page: page({ next, items }) }, now);
      if (decision.effects[0]?.kind === 'finish') return read;
      asked = { kind: 'cursor', cursor: next as Cursor };
      state = decision.next;
    }
    return Number.POSITIVE_INFINITY;
  }

  test('decide: a stuck cursor is detected within three requests, a cycle within three rounds', () => {
    expect(pagesRead(1)).toBeLessThanOrEqual(3);
    for (const period of [2, 3, 7, 50]) expect(pagesRead(period)).toBeLessThanOrEqual(3 * period + 1);
    expect(pagesRead(5000)).toBe(Number.POSITIVE_INFINITY);
  });

  test('PAGE-05 decide: empty pages are skipped, but not for ever', () => {
    expect(pagesRead(5000, 0)).toBe(emptyPagesInRowMax + 1);
  });
});

describe('decide: a 410', () => {
  const gone = (phase: Phase, asked: Position) => answer(phase, { kind: 'gone', asked });

  test('CLIENT-09 decide: a 410 long after the last listing relists at once, within a day with spacing', () => {
    expect(gone(following, { kind: 'cursor', cursor })).toBe('following: begin relist, at once');
    const waits = [0, 1, 2, 3, 4, 50].map((restarts) => {
      const soon: Phase = { ...following, listed: { at: ago(23 * hour), restarts } };
      return gone(soon, { kind: 'cursor', cursor }).replace('following: begin relist, ', '');
    });
    expect(waits).toEqual(['at once', 'at once', 'in 240 s', 'in 3600 s', 'in 14400 s', 'in 14400 s']);
  });

  test("INV-11 decide: a low mark beyond retention is replaced by the listing's final position, once", () => {
    const { next, effects } = decide(tickStart(states.sweeping), { kind: 'gone', asked: since }, now);
    expect(effects.map(effectText)).toEqual(['fetch cursor f1']);
    expect(outcome(next, { kind: 'gone', asked: { kind: 'cursor', cursor: 'f1' as Cursor } })).toBe(
      'sweeping: begin relist, at once',
    );
  });

  test('decide: the spacing of a listing grows with each start', () => {
    const waits = [0, 1, 2, 3, 4, 5, 50].map((restarts) =>
      gone({ kind: 'listing', listing: { ...listing, restarts } }, { kind: 'start' }).replace(/\D+/g, ''),
    );
    expect(waits).toEqual(['60', '240', '960', '3600', '14400', '14400', '14400']);
  });
});

describe('decide: a fault', () => {
  const expected: Record<(typeof reaction)[FaultCode], string> = {
    wait: 'following: finish waiting CODE, retry',
    retry: 'following: finish failed CODE, retry',
    relist: 'following: finish failed CODE, retry',
    ask: 'halted: finish failed CODE, halt',
    halt: 'halted: finish failed CODE, halt',
    stop: 'following: finish stopped',
  };
  for (const code of Object.keys(reaction) as FaultCode[])
    test(`decide: fault ${code} → ${reaction[code]}`, () => {
      expect(answer(following, failure(code))).toBe(expected[reaction[code]].replace('CODE', code));
    });

  test("decide: a fault that halts keeps the source's state and includes the hint", () => {
    const { next } = decide(tickStart(states.sweeping), failure('forbidden'), now);
    expect(next.phase).toEqual({
      kind: 'halted',
      code: 'forbidden',
      message: 'made up (do this)',
      at: instantFromMillis(now),
      before: states.sweeping,
    });
  });

  const reported = (more: { readonly hint?: string | null; readonly lasting?: boolean }, code: FaultCode) => {
    const failure = { code, message: 'made up', hint: null, retryAt: instantFromMillis(now), ...more };
    const [effect] = decide(tickStart(following), { kind: 'failed', failure }, now).effects;
    return effect?.kind === 'finish' ? effect.end : undefined;
  };

  test('decide: a fault that halts without a hint has its message alone', () => {
    expect(reported({ hint: null }, 'forbidden')?.message).toBe('made up');
  });

  test('decide: a failure that lasts until somebody acts says so, and no other does', () => {
    expect(reported({ lasting: true }, 'database_busy')).toHaveProperty('lasting', true);
    for (const other of [{ lasting: false }, {}])
      expect(reported(other, 'database_busy')).not.toHaveProperty('lasting');
  });
});
