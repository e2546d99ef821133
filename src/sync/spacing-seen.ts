import { nudgeDueAt } from './next-due.js';
import type { Schedule } from './schedule-state.js';
import { type SharedBudget, type SpacingReason, unlimited, webhookSpacing } from './webhook-spacing.js';

/** The present spacing of webhook ticks, as a status shows it. */
export interface SpacingSeen {
  /** The time between two webhook ticks. */
  readonly gapMillis: number;
  /** How long a webhook that arrives now waits for its tick. */
  readonly waitMillis: number;
  /**
   * `plenty`: each webhook starts a tick at once. `scarce`: the quota has to last until its window ends. `spent`: nothing
   * is left until then. `backing_off`: the last tick failed or the platform asked to wait. `halted`: an operator has to act.
   * `elsewhere`: another process follows the source. `paused`: no process follows it.
   */
  readonly reason: SpacingReason | 'backing_off' | 'halted' | 'elsewhere' | 'paused';
  /** The limit behind `scarce` and `spent`, and behind `plenty` once it is known. */
  readonly by: SharedBudget | null;
}

/** The spacing of a source that is not followed here. */
export const spacingElsewhere: SpacingSeen = { ...unlimited, waitMillis: 0, reason: 'elsewhere' };

export function spacingSeen(state: Schedule, now: number, budgets: readonly SharedBudget[]): SpacingSeen {
  const { gapMillis, reason, by } = webhookSpacing(budgets);
  // A tick under way may have read the feed already, so a webhook that arrives now needs the next one.
  const isAnswering = state.tick.kind === 'running' && state.tick.covers.nudged;
  const next = isAnswering ? { ...state, nudgedAt: now } : state;
  const waitMillis = Math.max(0, nudgeDueAt(next, now, budgets) - now);
  const seen: SpacingSeen = { gapMillis, waitMillis, reason, by };
  if (state.follows === 'elsewhere') return { ...seen, reason: 'elsewhere' };
  if (state.paused) return { ...seen, reason: 'paused' };
  if (state.halted) return { ...seen, reason: 'halted' };
  return state.nudgeDue > now && reason !== 'spent' ? { ...seen, reason: 'backing_off' } : seen;
}
