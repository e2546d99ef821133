import { type Fault, isFault, reaction } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import { type BackoffPlan, backoffMillis } from '../runtime/backoff.js';
import type { Clock } from '../runtime/clock.js';
import { descriptorsFault } from '../runtime/file-descriptors.js';
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

/** A tick that cannot write may have spent a request to find out: 120 an hour leave most of the quota. */
const databaseWaitMillisMax = 30_000;

/** What went wrong, as a decision needs it. A broken invariant is `internal`: its text may quote data and stays in the log. */
export function failureOf(error: unknown, plan: RetryPlan): Failure {
  const fault = isFault(error) ? error : (descriptorsFault(error) ?? undefined);
  const { hint = null, lasting = false } = fault?.about ?? {};
  const code = fault?.code ?? 'internal';
  return {
    code,
    // Nobody is asked to help by a halt, so what is to be done has to stand beside what is wrong.
    message: lasting && hint !== null ? `${fault?.message} (${hint})` : (fault?.message ?? defect),
    hint,
    lasting,
    retryAt: fault?.about.retryAt ?? instantFromMillis(plan.clock.now() + faultWaitMillis(fault, plan)),
  };
}

const defect = 'a defect of rosterd ended the tick; the log has the stack';

function faultWaitMillis(fault: Fault | undefined, plan: RetryPlan): number {
  // A wait that names no end gets the longest one: who is told to be quiet does not guess downwards.
  if (fault !== undefined && reaction[fault.code] === 'wait') return plan.backoff.capMillis;
  // Nobody else is spared by a long wait for our own database, and one that is back is used soon.
  if (fault?.code.startsWith('database_'))
    return waitMillis({ ...plan, backoff: { ...plan.backoff, capMillis: databaseWaitMillisMax } });
  // Asked again all the same: a certificate that was mended is found without anybody's help.
  if (fault?.about.lasting === true) return plan.backoff.capMillis;
  return waitMillis(plan);
}

/** The wait after this failure: longer after each in a row. */
export function waitMillis({ backoff, failures, random }: RetryPlan): number {
  const half = { baseMillis: backoff.baseMillis / 2, capMillis: backoff.capMillis / 2 };
  const certain = Math.min(half.capMillis, half.baseMillis * 2 ** Math.min(failures, 30));
  return Math.round(certain) + backoffMillis(half, failures, random);
}
