import type { TickReport } from './ports.js';

/**
 * How far apart timed ticks are. Where webhooks prove that they announce what happens, the timer only guards
 * against the day they stop, and most of its requests are for nothing: each idle one doubles the wait for the next,
 * up to the idle interval. One that finds what nobody announced ends the trust at once.
 */
export interface IdleStretch {
  /** A webhook has announced a change since the timer last found one by itself. */
  readonly trusted: boolean;
  /** Idle timed ticks in a row since then. */
  readonly idle: number;
}

export const watchful: IdleStretch = { trusted: false, idle: 0 };

/** After a tick. `announced`: a webhook had come before it, whatever made it start. */
export function afterTick(
  before: IdleStretch,
  { trigger, outcome, applied }: TickReport,
  announced: boolean,
): IdleStretch {
  if (outcome !== 'done') return watchful;
  const found = applied.added + applied.changed + applied.removed > 0;
  if (announced) return found ? { trusted: true, idle: 0 } : before;
  if (trigger !== 'timer') return before;
  return found ? watchful : { ...before, idle: before.idle + 1 };
}

/** Milliseconds from one timed tick to the next. */
export function stretched(
  { trusted, idle }: IdleStretch,
  intervalMillis: number,
  idleIntervalMillis: number,
): number {
  if (!trusted) return intervalMillis;
  return Math.max(intervalMillis, Math.min(idleIntervalMillis, intervalMillis * 2 ** Math.min(idle, 20)));
}
