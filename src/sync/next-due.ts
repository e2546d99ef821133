import { recheckDueAt } from './recheck-spacing.js';
import type { Schedule } from './schedule-state.js';
import { type SharedBudget, waitAfter, webhookSpacing } from './webhook-spacing.js';

/* When the next tick of a schedule may run. */

/**
 * Returns the milliseconds until a tick is due, or infinity when only a new request can start one. `budgets` is what is
 * left of the source's request quota now; ask again when that may have changed.
 */
export function untilDue(state: Schedule, now: number, budgets: readonly SharedBudget[]): number {
  const never = Number.POSITIVE_INFINITY;
  if (state.manual.length > 0) return 0;
  if (state.closed || state.paused || state.follows === 'elsewhere') return never;
  const isTimed = state.follows === 'here';
  const due = [
    isTimed ? state.timerDue : never,
    isTimed && state.grantRetry ? state.grant.dueAt : never,
    state.nudged ? nudgeDueAt(state, now, budgets) : never,
    // A recheck ignores the wait for nudges, such as a halt, since its cause may have just ended. Only its own
    // spacing applies.
    state.recheck ? recheckDueAt(state.rechecks) : never,
  ];
  return Math.max(0, Math.min(...due) - now);
}

/** Returns whether no tick is queued or running and none is due. */
export function isIdle(state: Schedule, now: number, budgets: readonly SharedBudget[]): boolean {
  return state.tick.kind === 'none' && untilDue(state, now, budgets) > 0;
}

/**
 * Returns when a nudge may start a tick: when every limit allows it. That is not always the limit with the widest gap, because
 * a gap shrinks faster the sooner its window ends.
 */
export function nudgeDueAt(state: Schedule, now: number, budgets: readonly SharedBudget[]): number {
  const waits = budgets.map((budget) => waitAfter(webhookSpacing([budget]), now - state.nudgedAt));
  return Math.max(state.nudgeDue, now + Math.max(0, ...waits));
}

/** How long a source counts as one that uses webhook ticks. */
const nudgedLatelyMillis = 60_000;

/** Returns until when the source takes part in what webhooks may use of a shared quota: infinity while that is open. */
export function usesWebhooksUntil(state: Schedule): number {
  if (state.nudged || (state.tick.kind === 'running' && state.tick.covers.nudged))
    return Number.POSITIVE_INFINITY;
  return state.nudgedAt + nudgedLatelyMillis;
}

/** Returns since when a timed tick of the source is due. */
export function timedSince({ timerDue, grantRetry, grant }: Schedule): number {
  return grantRetry ? Math.min(timerDue, grant.dueAt) : timerDue;
}

/** Returns whether nothing can happen any more. */
export function isOver({ closed, manual }: Schedule): boolean {
  return closed && manual.length === 0;
}
