import { type Fault, isFault, reaction } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import { type BackoffPlan, backoffMillis } from '../runtime/backoff.js';
import type { Clock } from '../runtime/clock.js';
import type { Random } from '../runtime/random.js';
import type { Failure } from './tick-state.js';

/** Half of each wait is certain, the other half is chance: never at once, and never all at the same moment. */
export interface RetryPlan {
  readonly backoff: BackoffPlan;
  /** Ticks of this source that failed in a row before this one. */
  readonly failures: number;
  readonly clock: Clock;
  readonly random: Random;
}

/** What went wrong, as a decision needs it. A broken invariant is `internal`: its text may quote data and stays in the log. */
export function failureOf(error: unknown, plan: RetryPlan): Failure {
  const fault = isFault(error) ? error : undefined;
  const code = fault?.code ?? 'internal';
  return {
    code,
    message: fault?.message ?? 'a defect of rosterd ended the tick; the log has the stack',
    hint: fault?.about.hint ?? null,
    retryAt: fault?.about.retryAt ?? instantFromMillis(plan.clock.now() + faultWaitMillis(fault, plan)),
  };
}

function faultWaitMillis(fault: Fault | undefined, plan: RetryPlan): number {
  // A wait that names no end gets the longest one: who is told to be quiet does not guess downwards.
  if (fault !== undefined && reaction[fault.code] === 'wait') return plan.backoff.capMillis;
  return waitMillis(plan);
}

/** The wait after this failure: longer after each in a row. */
export function waitMillis({ backoff, failures, random }: RetryPlan): number {
  const half = { baseMillis: backoff.baseMillis / 2, capMillis: backoff.capMillis / 2 };
  const certain = Math.min(half.capMillis, half.baseMillis * 2 ** Math.min(failures, 30));
  return Math.round(certain) + backoffMillis(half, failures, random);
}
