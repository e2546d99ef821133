import { type Fault, type FaultCode, isFault, reaction } from '../domain/fault.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import { type BackoffPlan, backoffMillis } from '../runtime/backoff.js';
import type { Clock } from '../runtime/clock.js';
import { descriptorsFault } from '../runtime/file-descriptors.js';
import type { Random } from '../runtime/random.js';
import type { Failure } from './tick-state.js';

/** Half of each wait is fixed and half is random: a retry is never immediate, and sources do not retry in unison. */
export interface RetryPlan {
  readonly backoff: BackoffPlan;
  /** Consecutive failed ticks of this source before this one. */
  readonly failures: number;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * A tick that cannot write may already have spent a request. A 30 s cap makes that at most 120 an hour, which leaves
 * most of the quota.
 */
const databaseWaitMillisMax = 30_000;

/**
 * Converts an error to the `Failure` that `decide` takes. An error that is not a `Fault` becomes `internal`: its text
 * may quote data, so it goes to the log only.
 */
export function failureOf(error: unknown, plan: RetryPlan): Failure {
  // Also behind a fault: a credential that cannot be opened for want of descriptors needs no person.
  const fault = descriptorsFault(error) ?? (isFault(error) ? error : undefined);
  const { hint = null, lasting = false } = fault?.about ?? {};
  const code = codeOf(fault);
  const message = fault?.message ?? defect;
  return {
    code,
    // Where the source does not halt, the message itself has to carry the hint.
    message:
      (lasting || isMended.has(code)) && hint !== null && !halts(code) ? `${message} (${hint})` : message,
    hint,
    lasting,
    retryAt: retryAtOf(fault, plan),
  };
}

/** Like `failureOf`, for a failure that cannot be recorded: it halts no source, so the message carries the hint. */
export function unrecordedFailureOf(error: unknown, plan: RetryPlan): Failure {
  const failure = failureOf(error, plan);
  const { code, message, hint } = failure;
  return hint === null || !halts(code) ? failure : { ...failure, message: `${message} (${hint})` };
}

/** Codes of failures that end when a person acts, although the source does not halt. */
const isMended: ReadonlySet<FaultCode> = new Set(['contract_broken', 'database_unusable']);

const halts = (code: FaultCode): boolean => reaction[code] === 'halt' || reaction[code] === 'ask';

/** A 429 that asks for no wait is no spent quota. Waiting for it as for one would send a request every other second. */
function codeOf(fault: Fault | undefined): FaultCode {
  if (fault === undefined) return 'internal';
  return fault.about.waitUnstated === true ? 'contract_broken' : fault.code;
}

function retryAtOf(fault: Fault | undefined, plan: RetryPlan): Instant {
  const least = fault?.about.retryAt;
  const after = (millis: number) => plan.clock.now() + millis;
  if (least === undefined) return instantFromMillis(after(faultWaitMillis(fault, plan)));
  if (fault?.about.waitUnstated !== true) return least;
  return instantFromMillis(Math.max(millisOf(least), after(waitMillis(plan))));
}

const defect = 'an internal error of rosterd ended the tick; the log has the stack trace';

function faultWaitMillis(fault: Fault | undefined, plan: RetryPlan): number {
  // A wait without an end gets the longest backoff: rosterd must not guess a shorter one than the platform meant.
  if (fault !== undefined && reaction[fault.code] === 'wait') return plan.backoff.capMillis;
  // A long wait does not help when our own database is the cause, and a database that is back should be used soon.
  if (fault?.code.startsWith('database_'))
    return waitMillis({ ...plan, backoff: { ...plan.backoff, capMillis: databaseWaitMillisMax } });
  // Lasting faults are retried too, at the longest interval: a renewed certificate is picked up without a restart.
  if (fault?.about.lasting === true) return plan.backoff.capMillis;
  return waitMillis(plan);
}

/** Returns the wait after this failure. It grows with each consecutive failure. */
export function waitMillis({ backoff, failures, random }: RetryPlan): number {
  const half = { baseMillis: backoff.baseMillis / 2, capMillis: backoff.capMillis / 2 };
  const certain = Math.min(half.capMillis, half.baseMillis * 2 ** Math.min(failures, 30));
  return Math.round(certain) + backoffMillis(half, failures, random);
}
