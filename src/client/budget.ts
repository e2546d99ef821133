import type { Urgency } from '../sync/ports.js';
import { rateLimits } from '../wire/limits.js';

/**
 * The platform counts requests per token in fixed windows but does not report how many are left, so the client counts
 * too. A window starts with its first request. A 429 corrects the count, because it says when the next window starts.
 * All times are milliseconds on the platform's clock.
 */
export interface BudgetState {
  readonly windowStart: number;
  readonly spent: number;
  /** End of the wait that the platform itself asked for. */
  readonly blockedUntil: number | null;
}

export interface BudgetRule {
  readonly limit: number;
  readonly windowMillis: number;
  /** What routine work leaves unused, so a webhook in the last minutes of a window can still be handled at once. */
  readonly reserve: number;
}

/** The reserve is a twentieth of the limit, but at least twenty requests: enough for twenty pages after a webhook. */
const reserveShare = 0.05;
const reserveMin = 20;

export function tokenRule(limit: number = rateLimits.token.limit): BudgetRule {
  return {
    limit,
    windowMillis: rateLimits.token.seconds * 1000,
    reserve: Math.min(limit - 1, Math.max(reserveMin, Math.ceil(limit * reserveShare))),
  };
}

/** Refreshes are rare and equally urgent, so nothing is reserved. */
export const tokenEndpointRule: BudgetRule = {
  limit: rateLimits.tokenEndpointClient.limit,
  windowMillis: rateLimits.tokenEndpointClient.seconds * 1000,
  reserve: 0,
};

export type Spending =
  | { readonly kind: 'granted'; readonly state: BudgetState }
  | { readonly kind: 'refused'; readonly until: number; readonly state: BudgetState };

/**
 * Returns whether one more request may be sent at `now`, and the state after it. Store the state of a refusal too: a
 * window that seems to begin in the future is then counted once and not restarted by every call.
 */
export function spend(state: BudgetState | null, rule: BudgetRule, now: number, urgency: Urgency): Spending {
  const current = at(state, rule, now);
  if (current.blockedUntil !== null) return { kind: 'refused', until: current.blockedUntil, state: current };
  const allowed = urgency === 'webhook' ? rule.limit : rule.limit - rule.reserve;
  if (current.spent >= allowed)
    return { kind: 'refused', until: current.windowStart + rule.windowMillis, state: current };
  return { kind: 'granted', state: { ...current, spent: current.spent + 1 } };
}

/**
 * Returns what is left of the window at `now`, and when the next one starts. Nothing is left while the platform
 * blocks us.
 */
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
 * Returns the state after a 429. If this budget ran out, its window ends with the wait. If another limit was hit (per
 * address or per endpoint), the count continues unchanged.
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
  // Responses to concurrent requests may name different limits; the longest wait wins.
  const blockedUntil = Math.max(until, current.blockedUntil ?? until);
  return ranOut
    ? { windowStart: until - rule.windowMillis, spent: rule.limit, blockedUntil }
    : { ...current, blockedUntil };
}

/** Returns the state as of `now`: an ended window starts over, an ended block is dropped. */
function at(state: BudgetState | null, rule: BudgetRule, now: number): BudgetState {
  if (state === null || now >= state.windowStart + rule.windowMillis) {
    return { windowStart: now, spent: 0, blockedUntil: liveBlock(state, rule, now) };
  }
  const blockedUntil = liveBlock(state, rule, now);
  if (state.windowStart <= now && state.blockedUntil === blockedUntil) return state;
  return {
    // A start in the future means the clock was set back. The real age is unknown, so the window starts now.
    windowStart: Math.min(state.windowStart, now),
    spent: state.spent,
    blockedUntil,
  };
}

/** No block is longer than a window. A longer one was stored under another clock and is ignored. */
function liveBlock(state: BudgetState | null, rule: BudgetRule, now: number): number | null {
  const until = state?.blockedUntil ?? null;
  return until !== null && now < until && until - now <= rule.windowMillis ? until : null;
}
