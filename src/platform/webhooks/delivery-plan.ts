import type { Random } from '../../runtime/random.js';
import { deliveryDisableSeconds, deliveryRetrySeconds } from '../../wire/limits.js';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Delays after the first, second, … failed attempt. The last delay repeats until the window ends. */
const retryDelaysMs = [
  5 * second,
  1 * minute,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  12 * hour,
] as const;
/** Random share of the delay, added or subtracted, so that deliveries that failed together are not retried together. */
const jitterShare = 0.2;

const deliveryWindowMs = deliveryRetrySeconds * second;
const disableAfterMs = deliveryDisableSeconds * second;

export interface Progress {
  /** Time of creation or of the last resend. */
  readonly windowFrom: number;
  /** Number of failed attempts since then, including the latest. */
  readonly failures: number;
}

/**
 * Returns when a failed delivery is retried, or null when its window has ended. The last retry is at the exact end of the
 * window instead of being skipped.
 */
export function nextTry(progress: Progress, now: number, random: Random): number | null {
  const end = progress.windowFrom + deliveryWindowMs;
  if (now >= end) return null;
  const step = Math.min(progress.failures, retryDelaysMs.length) - 1;
  const delay = retryDelaysMs[step] ?? retryDelaysMs[0];
  const jittered = delay * (1 - jitterShare + 2 * jitterShare * random.fraction());
  return Math.min(now + Math.round(jittered), end);
}

/** Updates the failure streak of an endpoint. A success ends it; three days of failures only disable the endpoint. */
export function streakAfter(
  failingSince: number | null,
  succeeded: boolean,
  now: number,
): { readonly failingSince: number | null; readonly disable: boolean } {
  if (succeeded) return { failingSince: null, disable: false };
  const since = failingSince ?? now;
  return { failingSince: since, disable: now - since >= disableAfterMs };
}
