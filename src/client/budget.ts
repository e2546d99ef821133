import type { Urgency } from '../sync/ports.js';
import { rateLimits } from '../wire/limits.js';

/**
 * The platform counts requests per token in fixed windows and does not tell how many are left, so we count too.
 * A window starts with its first request; a 429 corrects us, because it says when the next one starts.
 * All times are milliseconds on the platform's clock.
 */
export interface BudgetState {
  readonly windowStart: number;
  readonly spent: number;
  /** Until when the platform itself told us to stay away. */
  readonly blockedUntil: number | null;
}

export interface BudgetRule {
  readonly limit: number;
  readonly windowMillis: number;
  /** What routine work leaves untouched, so that a webhook in the last minutes of an hour is still answered at once. */
  readonly reserve: number;
}

/** The reserve: a twentieth, but at least enough for twenty pages of a nudge. */
const reserveShare = 0.05;
const reserveMin = 20;

export function tokenRule(limit: number = rateLimits.token.limit): BudgetRule {
  return {
    limit,
    windowMillis: rateLimits.token.seconds * 1000,
    reserve: Math.min(limit - 1, Math.max(reserveMin, Math.ceil(limit * reserveShare))),
  };
}

/** Refreshes are few and all alike, nothing is kept back. */
export const tokenEndpointRule: BudgetRule = {
  limit: rateLimits.tokenEndpointClient.limit,
  windowMillis: rateLimits.tokenEndpointClient.seconds * 1000,
  reserve: 0,
};

export type Spending =
  | { readonly kind: 'granted'; readonly state: BudgetState }
  | { readonly kind: 'refused'; readonly until: number; readonly state: BudgetState };

/**
 * Whether one more request may go out at `now`, and the state after it. That of a refusal has to be kept as well: from
 * a window that seems to begin in the future the hour is counted once, and not anew whenever somebody asks.
 */
export function spend(state: BudgetState | null, rule: BudgetRule, now: number, urgency: Urgency): Spending {
  const current = at(state, rule, now);
  if (current.blockedUntil !== null) return { kind: 'refused', until: current.blockedUntil, state: current };
  const allowed = urgency === 'webhook' ? rule.limit : rule.limit - rule.reserve;
  if (current.spent >= allowed)
    return { kind: 'refused', until: current.windowStart + rule.windowMillis, state: current };
  return { kind: 'granted', state: { ...current, spent: current.spent + 1 } };
}

/** What is left of the window at `now`, and when the next one starts. Nothing while the platform keeps us away. */
export function remaining(
  state: BudgetState | null,
  rule: BudgetRule,
  now: number,
): { readonly left: number; readonly resetsAt: number } {
  const current = at(state, rule, now);
  const ends = current.windowStart + rule.windowMillis;
  if (current.blockedUntil !== null) return { left: 0, resetsAt: Math.max(ends, current.blockedUntil) };
  return { left: Math.max(0, rule.limit - current.spent), resetsAt: ends };
}

/**
 * After a 429. When it was this very budget that ran out, its window ends with the wait; when it was another limit
 * (the address, an endpoint), the count goes on as it was.
 */
export function block(
  state: BudgetState | null,
  rule: BudgetRule,
  now: number,
  waitMillis: number,
  ranOut: boolean,
): BudgetState {
  const current = at(state, rule, now);
  const until = now + Math.min(waitMillis, rule.windowMillis);
  // Answers to requests that were under way at the same time may name several limits: the longest wait holds.
  const blockedUntil = Math.max(until, current.blockedUntil ?? until);
  return ranOut
    ? { windowStart: until - rule.windowMillis, spent: rule.limit, blockedUntil }
    : { ...current, blockedUntil };
}

/** The state as of `now`: an ended window begins anew, an ended block is forgotten. */
function at(state: BudgetState | null, rule: BudgetRule, now: number): BudgetState {
  if (state === null || now >= state.windowStart + rule.windowMillis) {
    return { windowStart: now, spent: 0, blockedUntil: liveBlock(state, rule, now) };
  }
  const blockedUntil = liveBlock(state, rule, now);
  if (state.windowStart <= now && state.blockedUntil === blockedUntil) return state;
  return {
    // A start in the future means the clock went back. How long ago it really was is unknown, so it counts as now.
    windowStart: Math.min(state.windowStart, now),
    spent: state.spent,
    blockedUntil,
  };
}

/** No block reaches further than a window; one that seems to was written under another clock. */
function liveBlock(state: BudgetState | null, rule: BudgetRule, now: number): number | null {
  const until = state?.blockedUntil ?? null;
  return until !== null && now < until && until - now <= rule.windowMillis ? until : null;
}
