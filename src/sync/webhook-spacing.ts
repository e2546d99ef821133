/*
 * The minimum time between two ticks that webhooks start, as a function of the request quota.
 *
 * While at least a third of a window's requests is left, each webhook starts a tick at once. Below that, webhook ticks are
 * spread over the time until the window ends. They may use two fifths of what is left; the rest stays for timed ticks,
 * grant checks, listings and ticks of several pages. The last twentieth, which routine work leaves untouched, is theirs
 * alone. The gap grows smoothly, fastest at the beginning: from none at a third of a window to the whole even spread at an
 * empty one. The next window starts over.
 *
 * Processes that share a quota see one count of what is left. Members of a fleet also report to each other which of
 * their sources use webhook ticks, so that the rest is divided among all of them. A process that does not report does no
 * harm: if it spends more, less is left, and the gaps of all grow.
 */

/** What is left of one limit that a source's requests count against. */
export interface BudgetLeft {
  /** Equal for all sources that share the limit. */
  readonly key: string;
  readonly kind: 'token' | 'address';
  readonly limit: number;
  /** 0 while the platform blocks all requests. */
  readonly left: number;
  readonly resetsInMillis: number;
}

/** A limit, and how many sources share it and use webhook ticks now. */
export interface SharedBudget extends BudgetLeft {
  /** Sources of this process, including the one that asks. */
  readonly sharing: number;
  /** Sources that other members of the fleet follow. */
  readonly elsewhere: number;
}

/**
 * Why ticks are spaced as they are. `plenty`: not at all. `scarce`: the quota has to last until its window ends.
 * `spent`: nothing is left until then.
 */
export type SpacingReason = 'plenty' | 'scarce' | 'spent';

export interface WebhookSpacing {
  readonly gapMillis: number;
  readonly reason: SpacingReason;
  /** The limit that determines the gap; null when no limit is known. */
  readonly by: SharedBudget | null;
}

/** While this share of a window is left, webhook ticks are not spaced. */
const plentyShare = 1 / 3;
/**
 * The share of what is left that spaced webhook ticks may use, and the share of a window that is theirs alone.
 * `ownShare` belongs with `reserveShare` of `wire/limits.ts`: change both.
 */
const spacedShare = 0.4;
const ownShare = 0.05;

/** Returns the spacing under several limits: the widest that one of them requires. */
export function webhookSpacing(budgets: readonly SharedBudget[]): WebhookSpacing {
  const all = budgets.map(spacingUnder);
  return all.reduce((widest, one) => (one.gapMillis > widest.gapMillis ? one : widest), all[0] ?? unlimited);
}

export const unlimited: WebhookSpacing = { gapMillis: 0, reason: 'plenty', by: null };

/** Returns whether webhook ticks need no spacing. */
export function isPlenty({ limit, left }: BudgetLeft): boolean {
  return left > 0 && left >= limit * plentyShare;
}

function spacingUnder(budget: SharedBudget): WebhookSpacing {
  const { limit, left, resetsInMillis } = budget;
  const sharing = Math.max(1, budget.sharing + budget.elsewhere);
  const untilReset = Math.max(0, resetsInMillis);
  if (left <= 0) return { gapMillis: untilReset, reason: 'spent', by: budget };
  const plenty = limit * plentyShare;
  if (isPlenty(budget)) return { gapMillis: 0, reason: 'plenty', by: budget };
  const usable = Math.max(left * spacedShare, Math.min(left, limit * ownShare));
  const share = (sharing / usable) * (1 - (left / plenty) ** 2);
  // The tick itself is one of those that the rest of the window is divided among.
  return { gapMillis: (untilReset * share) / (1 + share), reason: 'scarce', by: budget };
}

/**
 * Returns how long a webhook has to wait `elapsedMillis` after the last tick. The gap shrinks as the window runs out. This
 * solves for the moment when the time since the last tick equals the gap at that moment.
 */
export function waitAfter({ gapMillis, reason, by }: WebhookSpacing, elapsedMillis: number): number {
  if (reason === 'spent') return gapMillis;
  if (gapMillis === 0 || by === null || elapsedMillis === Number.POSITIVE_INFINITY) return 0;
  return Math.max(0, gapMillis - elapsedMillis * (1 - gapMillis / by.resetsInMillis));
}
