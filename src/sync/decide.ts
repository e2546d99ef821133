import { defined } from '../domain/defined.js';
import { reaction } from '../domain/fault.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Cursor, PageToken, Position } from '../domain/position.js';
import { advanced, initialAdvance } from './advance.js';
import type { Active, ListingProgress, Phase, Trigger } from './ports.js';
import { quietUntil } from './quiet-hours.js';
import {
  freshStart,
  mayStart,
  type Restart,
  relistAfter,
  relistNames,
  restartAfter,
} from './restart-spacing.js';
import type { Decision, Effect, Failure, TickEnd, TickEvent, TickState } from './tick-state.js';

/*
 * One tick of one source as a pure function: from the committed state and the event that just happened to the next
 * action.
 *
 *     empty ─ begin ─▶ listing ─ last page ─▶ publish ─▶ sweeping ─ last page ─▶ following
 *                        ▲  ▲                               │                      │
 *                        │  └─ 410: restart, spaced out     │                      │
 *                        └── 410, or a resync was asked for ┴──────────────────────┤
 *                        └── names are incomplete and a relisting is due ──────────┘
 *
 * Any state can move to `halted` when only an operator can help. `halted` remembers the state before it.
 *
 * The deletion brake is not a state. When a listing names too few of the stored rows it is published anyway: the
 * mirror keeps the missing rows, marks them as awaiting deletion, and the source goes on following the feed.
 * Accepting deletions deletes the rows marked at that moment, before anything is fetched. It also applies to a
 * listing that `--resync` requests in the same command and to one that was already complete, but to no other listing.
 *
 * During quiet hours no page of a listing is read: a listing waits where it is, and one for missing names does not begin.
 * Deltas and the sweep go on.
 *
 * The only loop is fetch → page → commit → fetch. Each turn changes the committed position, and `advanced` checks
 * that no position repeats. The loop ends when the feed reports no more pages. A tick begins at most one listing
 * after a 410, then waits for its next permitted start.
 */
export function decide(state: TickState, event: TickEvent, now: number): Decision {
  switch (event.kind) {
    case 'tick_asked':
      return asked(state, event.trigger, now);
    case 'resync_asked':
      return resync(state);
    case 'deletions_accepted':
      return accepted(state, event.rows, now);
    case 'awaiting_deleted':
      return nextStep(state, now);
    case 'filters_changed':
      return filtersChanged(state, now);
    case 'listing_begun':
      return listingBegun(state, event.listing, now);
    case 'page_arrived':
      return pageArrived(state, event, now);
    case 'listing_page_stored':
      return nextStep(
        at(expected(state, event, 'listing'), { kind: 'listing', listing: event.listing }),
        now,
      );
    case 'delta_page_applied':
      return deltaPageApplied(expected(state, event, 'sweeping', 'following'), event);
    case 'published':
      return published(expected(state, event, 'listing'), now);
    case 'gone':
      return gone(expected(state, event, 'listing', 'sweeping', 'following'), event.asked, now);
    case 'failed':
      return failed(state, event.failure, now);
    case 'stop_asked':
      return finish(state, { outcome: 'stopped', code: 'stopped', message: null, retryAt: null });
  }
}

export function tickStart(
  phase: Phase,
  { acceptDeletions = false, breachWaitMillis = 0, quiet = null }: Partial<TickState> = {},
): TickState {
  return { phase, advance: initialAdvance, retried: null, acceptDeletions, breachWaitMillis, quiet };
}

/**
 * A manual tick and the first tick after a start retry a halted source: the operator may have fixed the cause. A
 * webhook only proves that the platform is up, so it earns one retry an hour. The timer earns none. A retry that the
 * platform does not answer proves nothing: the source stays halted.
 */
const recheckMillis = 60 * 60_000;

function asked(state: TickState, trigger: Trigger, now: number): Decision {
  const { phase } = state;
  if (phase.kind !== 'halted') return nextStep(state, now);
  const due =
    trigger === 'manual' ||
    trigger === 'start' ||
    // A halt dated further in the future was stored under a wrong clock.
    (trigger === 'webhook' && Math.abs(now - millisOf(phase.at)) >= recheckMillis);
  if (due) return nextStep({ ...state, phase: phase.before, retried: phase }, now);
  const { code, message } = phase;
  return remainHalted(state, { outcome: 'failed', code, message, retryAt: null });
}

/** Returns the next action for a committed phase. */
function nextStep(state: TickState, now: number): Decision {
  const { phase } = state;
  const quiet = quietUntil(state.quiet, now);
  switch (phase.kind) {
    case 'empty':
      return quiet === null ? begin(state, 'first', freshStart) : waitForEnd(state, quiet);
    case 'listing':
      return continueListing(state, phase.listing, now);
    case 'sweeping':
      return fetch(state, phase.since);
    case 'following': {
      const mayList = phase.namesIncomplete && quiet === null;
      const restart = mayList ? relistNames(phase.listed, now) : null;
      if (restart !== null) return begin(state, 'relist', restart);
      return fetch(state, { kind: 'cursor', cursor: phase.cursor });
    }
    case 'halted':
      throw new Error('a halted source continues from the phase before its halt');
  }
}

function continueListing(state: TickState, listing: ListingProgress, now: number): Decision {
  if (listing.final !== null) return publish(state, listing);
  const quiet = quietUntil(state.quiet, now);
  if (quiet !== null) return waitForEnd(state, quiet);
  if (listing.token !== null) return fetch(state, { kind: 'page', token: listing.token });
  if (mayStart(listing.notBefore, now)) return fetch(state, { kind: 'start' });
  return finish(state, {
    outcome: 'waiting',
    code: 'cursor_expired',
    message: `the feed's positions expire before a listing can finish (start ${listing.restarts + 1}); the next start is delayed`,
    retryAt: listing.notBefore,
  });
}

/** Pages that a listing has stored are kept, and the next tick outside the quiet hours continues behind them. */
function waitForEnd(state: TickState, until: Instant): Decision {
  return finish(state, {
    outcome: 'waiting',
    code: null,
    message: `listings wait until ${until}, the end of the quiet hours`,
    retryAt: until,
  });
}

/**
 * Deletes the rows that the operator saw as awaiting deletion. An unfinished listing is not part of that approval, and
 * when a number of `rows` was confirmed, neither is a complete one.
 */
function accepted(state: TickState, rows: number | undefined, now: number): Decision {
  const phase = active(state.phase);
  const listing = phase.kind === 'listing' ? phase.listing : null;
  const next = {
    ...at(state, phase),
    acceptDeletions: rows === undefined && listing !== null && listing.final !== null,
  };
  if (phase.kind === 'empty' || listing?.kind === 'first') return nextStep(next, now);
  return { next, effects: [{ kind: 'delete_awaiting', ...defined({ rows }) }] };
}

function resync(state: TickState): Decision {
  const phase = active(state.phase);
  const first = phase.kind === 'empty' || (phase.kind === 'listing' && phase.listing.kind === 'first');
  return begin(at(state, phase), first ? 'first' : 'relist', freshStart);
}

function filtersChanged(state: TickState, now: number): Decision {
  // No data was read under the old filters yet, so there is nothing to protect: a wrong company or token was corrected.
  const phase = active(state.phase);
  if (phase.kind === 'empty') return nextStep(at(state, phase), now);
  if (phase.kind === 'listing' && phase.listing.kind === 'first' && phase.listing.pages === 0)
    return begin(at(state, phase), 'first', freshStart);
  return halt(
    state,
    {
      code: 'filters_changed',
      message:
        'the account, realm or filters of this source, or platform.baseUrl, differ from those its mirror was built with',
      hint: 'undo the change, or list again with the new settings: rosterd sync --source NAME --resync',
    },
    now,
  );
}

function listingBegun(state: TickState, listing: ListingProgress, now: number): Decision {
  return nextStep({ ...at(state, { kind: 'listing', listing }), advance: initialAdvance }, now);
}

function pageArrived(
  state: TickState,
  event: Extract<TickEvent, { kind: 'page_arrived' }>,
  now: number,
): Decision {
  const { phase } = expected(state, event, 'listing', 'sweeping', 'following');
  const { page } = event;
  const mode = phase.kind === 'listing' ? 'listing' : 'delta';
  if (page.mode !== mode)
    return breached(state, `the feed answered a ${page.mode} page to a ${mode} request`, now);
  const advance = page.hasMore ? advanced(state.advance, event.asked, page) : initialAdvance;
  if ('problem' in advance) return breached(state, advance.problem, now);
  const commit: Effect =
    phase.kind === 'listing'
      ? { kind: 'store_listing_page' }
      : {
          kind: 'apply_page',
          reached: {
            kind: phase.kind === 'sweeping' && page.hasMore ? 'sweeping' : 'following',
            cursor: page.next as Cursor,
          },
        };
  const following: Effect = { kind: 'prefetch', position: behind(phase, page.next) };
  return {
    next: { ...state, advance, retried: null },
    effects: page.hasMore ? [commit, following] : [commit],
  };
}

function deltaPageApplied(
  state: Expecting<'sweeping' | 'following'>,
  { reached, hasMore }: Extract<TickEvent, { kind: 'delta_page_applied' }>,
): Decision {
  const { phase } = state;
  const { listed } = phase;
  const position = { kind: 'cursor', cursor: reached.cursor } as const;
  const next: Active =
    reached.kind === 'following' || phase.kind === 'following'
      ? // The next open reads whether names are complete: a tick begins at most one listing for them.
        { kind: 'following', cursor: reached.cursor, listed, namesIncomplete: false }
      : { kind: 'sweeping', since: position, cursor: phase.cursor, listed };
  return hasMore ? fetch(at(state, next), position) : finish(at(state, next), done);
}

function published(state: Expecting<'listing'>, now: number): Decision {
  const { final, lowMark, restarts } = state.phase.listing;
  if (final === null) throw new Error('a listing was published before its last page');
  const cursor: Position = { kind: 'cursor', cursor: final };
  const since: Position = lowMark === null ? cursor : { kind: 'since', time: lowMark };
  const listed = { at: instantFromMillis(now), restarts };
  // The approval is used up: it must not cover a listing that follows in the same tick.
  const next = { ...at(state, { kind: 'sweeping', since, cursor: final, listed }), acceptDeletions: false };
  return nextStep({ ...next, advance: initialAdvance }, now);
}

function gone(
  state: Expecting<'listing' | 'sweeping' | 'following'>,
  asked: Position,
  now: number,
): Decision {
  const { phase } = state;
  if (phase.kind === 'listing')
    return begin(state, phase.listing.kind, restartAfter(phase.listing.restarts, now));
  // The low mark itself is older than the feed's retention, because nothing was published for so long. The listing's
  // final position covers the same period and does not lead back here when it expires.
  if (phase.kind === 'sweeping' && asked.kind === 'since') {
    const since: Position = { kind: 'cursor', cursor: phase.cursor };
    return fetch(at(state, { ...phase, since }), since);
  }
  return begin(state, 'relist', relistAfter(phase.listed, now));
}

function failed(state: TickState, failure: Failure, now: number): Decision {
  const { code, message, retryAt, lasting } = failure;
  switch (reaction[code]) {
    case 'wait':
      return finish(state, { outcome: 'waiting', code, message, retryAt });
    case 'retry':
    case 'relist':
      return finish(state, {
        outcome: 'failed',
        code,
        message,
        retryAt,
        ...(lasting === true ? { lasting } : {}),
      });
    case 'stop':
      return finish(state, { outcome: 'stopped', code, message, retryAt: null });
    case 'ask':
    case 'halt':
      return halt(state, failure, now);
  }
}

function halt(
  state: TickState,
  { code, message, hint }: Pick<Failure, 'code' | 'message' | 'hint'>,
  now: number,
): Decision {
  const text = hint === null ? message : `${message} (${hint})`;
  const before = active(state.phase);
  return {
    next: at(state, { kind: 'halted', code, message: text, at: instantFromMillis(now), before }),
    effects: [
      {
        kind: 'finish',
        end: { outcome: 'failed', code, message: text, retryAt: null },
        halt: { code, message: text },
      },
    ],
  };
}

const done: TickEnd = { outcome: 'done', code: null, message: null, retryAt: null };

const begin = (state: TickState, kind: ListingProgress['kind'], restart: Restart): Decision => ({
  next: state,
  effects: [{ kind: 'begin_listing', start: { kind, ...restart } }],
});

const fetch = (state: TickState, position: Position): Decision => ({
  next: state,
  effects: [{ kind: 'fetch', position }],
});

const publish = (state: TickState, listing: ListingProgress): Decision => {
  if (listing.final === null) throw new Error('only a complete listing is published');
  return {
    next: state,
    effects: [{ kind: 'publish', final: listing.final, accepted: state.acceptDeletions }],
  };
};

const finish = (state: TickState, end: TickEnd): Decision =>
  state.retried === null
    ? { next: state, effects: [{ kind: 'finish', end, halt: null }] }
    : remainHalted(at(state, state.retried), end);

const remainHalted = (next: TickState, end: TickEnd): Decision => ({
  next,
  effects: [{ kind: 'remain_halted', end }],
});

const behind = (phase: Phase, next: string): Position =>
  phase.kind === 'listing'
    ? { kind: 'page', token: next as PageToken }
    : { kind: 'cursor', cursor: next as Cursor };

const breached = (state: TickState, message: string, now: number): Decision => {
  const retryAt = instantFromMillis(now + state.breachWaitMillis);
  return failed(state, { code: 'contract_broken', message, hint: null, retryAt }, now);
};

type Expecting<Kind extends Phase['kind']> = TickState & {
  readonly phase: Extract<Phase, { kind: Kind }>;
};

/** What is committed ends a halt. */
const at = (state: TickState, phase: Phase): TickState => ({ ...state, phase, retried: null });

const active = (phase: Phase): Active => (phase.kind === 'halted' ? phase.before : phase);

/**
 * Returns the state narrowed to one of `kinds`. Throws when an event arrives in a phase that cannot have asked for
 * it, which is a bug in the runner.
 */
function expected<Kind extends Phase['kind']>(
  state: TickState,
  event: TickEvent,
  ...kinds: readonly Kind[]
): Expecting<Kind> {
  if (!(kinds as readonly string[]).includes(state.phase.kind))
    throw new Error(`${event.kind} cannot happen while a source is ${state.phase.kind}`);
  return state as Expecting<Kind>;
}
