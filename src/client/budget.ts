import { defined } from '../domain/defined.js';
import type { Urgency } from '../sync/ports.js';
import { rateLimits, webhookReserve } from '../wire/limits.js';

/**
 * The platform counts requests per token in fixed windows but does not report how many are left, so the client counts
 * too. A 429 corrects the count, because it says when the next window starts. All times are milliseconds on the
 * platform's clock.
 */
export interface BudgetState {
  readonly windowStart: number;
  readonly spent: number;
  /** End of the wait that the platform itself asked for. */
  readonly blockedUntil: number | null;
  /** Requests so close to the end of the window that the platform may count them in the next one. Not stored. */
  readonly late?: number;
}

/** A budget as it is stored: with the count of the window that begins at a fixed time, such as the hour. */
export interface StoredBudget extends BudgetState {
  readonly fixed?: Pick<BudgetState, 'windowStart' | 'spent'> | null;
}

export interface BudgetRule {
  readonly limit: number;
  readonly windowMillis: number;
  /** What routine work leaves unused, so a webhook in the last minutes of a window can still be handled at once. */
  readonly reserve: number;
  /** Windows begin at this time and its multiples of `windowMillis`. Absent: each begins with its first request. */
  readonly phase?: number;
}

/**
 * Our estimate of the platform's clock and a request's travel time are uncertain by this much, so near the end of a
 * window we cannot know in which window the platform counts a request. Until the new window has surely begun, requests
 * count in the old one; those near its end count in both.
 */
export const settleMillis = 2_000;

export function tokenRule(limit: number = rateLimits.token.limit): BudgetRule {
  return {
    limit,
    windowMillis: rateLimits.token.seconds * 1000,
    reserve: webhookReserve(limit),
  };
}

/**
 * Returns the rule for the requests that all tokens of one address may make. Nothing is reserved: each token has its own
 * reserve. Returns null for a platform that allows a single token more than that: the limit of an address is then unknown.
 */
export function addressRule(tokenLimit: number): BudgetRule | null {
  const { limit, seconds } = rateLimits.ip;
  return tokenLimit > limit ? null : { limit, windowMillis: seconds * 1000, reserve: 0 };
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
  if (current.spent >= allowed) return { kind: 'refused', until: surelyOver(current, rule), state: current };
  return { kind: 'granted', state: counted(current, rule, now, 1) };
}

/** Returns the state after requests that were sent in any case, by others for example. */
export function spendAnyway(
  state: BudgetState | null,
  rule: BudgetRule,
  now: number,
  count: number,
): BudgetState {
  return counted(at(state, rule, now), rule, now, count);
}

function counted(current: BudgetState, rule: BudgetRule, now: number, count: number): BudgetState {
  const isLate = now >= current.windowStart + rule.windowMillis - settleMillis;
  return {
    ...current,
    spent: current.spent + count,
    ...(isLate ? { late: (current.late ?? 0) + count } : {}),
  };
}

/** Returns when the window has ended on the platform too. */
function surelyOver({ windowStart }: BudgetState, { windowMillis }: BudgetRule): number {
  return windowStart + windowMillis + settleMillis;
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
  const ends = surelyOver(current, rule);
  const left = Math.max(0, rule.limit - current.spent);
  if (current.blockedUntil === null) return { left, resetsAt: ends };
  return { left: 0, resetsAt: left > 0 ? current.blockedUntil : Math.max(ends, current.blockedUntil) };
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
    ? // The platform named the time, so nothing has to settle.
      { windowStart: until - rule.windowMillis - settleMillis, spent: rule.limit, blockedUntil }
    : { ...current, blockedUntil };
}

/** Returns the state as of `now`: an ended window starts over, an ended block is dropped. */
function at(state: BudgetState | null, rule: BudgetRule, now: number): BudgetState {
  if (state === null || now >= surelyOver(state, rule)) {
    const isNext = state !== null && now < surelyOver(state, rule) + rule.windowMillis;
    return {
      windowStart: beginning(rule, now),
      spent: isNext ? (state.late ?? 0) : 0,
      blockedUntil: liveBlock(state, rule, now),
    };
  }
  const blockedUntil = liveBlock(state, rule, now);
  if (state.windowStart <= now && state.blockedUntil === blockedUntil) return state;
  return {
    // A start in the future means the clock was set back. The real age is unknown, so the window starts now.
    windowStart: state.windowStart <= now ? state.windowStart : beginning(rule, now),
    spent: state.spent,
    blockedUntil,
    ...defined({ late: state.late }),
  };
}

function beginning({ phase, windowMillis }: BudgetRule, now: number): number {
  return phase === undefined ? now : now - ((((now - phase) % windowMillis) + windowMillis) % windowMillis);
}

/** No block is longer than a window. A longer one was stored under another clock and is ignored. */
function liveBlock(state: BudgetState | null, rule: BudgetRule, now: number): number | null {
  const until = state?.blockedUntil ?? null;
  return until !== null && now < until && until - now <= rule.windowMillis ? until : null;
}
