import type { TickReport } from './ports.js';

/**
 * Interval between timed ticks. While webhooks announce every change, the timer is only a safeguard and most of its
 * requests find nothing: each idle tick doubles the interval, up to the idle interval. A timed tick that finds an
 * unannounced change resets it.
 */
export interface IdleStretch {
  /** A webhook has announced a change since the timer last found an unannounced one. */
  readonly trusted: boolean;
  /** Consecutive idle timed ticks since then. */
  readonly idle: number;
}

export const watchful: IdleStretch = { trusted: false, idle: 0 };

/** Returns the state after a tick. `announced`: a webhook arrived before the tick, whatever started it. */
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

/** Returns the milliseconds between two timed ticks. */
export function stretched(
  { trusted, idle }: IdleStretch,
  intervalMillis: number,
  idleIntervalMillis: number,
): number {
  if (!trusted) return intervalMillis;
  return Math.max(intervalMillis, Math.min(idleIntervalMillis, intervalMillis * 2 ** Math.min(idle, 20)));
}
