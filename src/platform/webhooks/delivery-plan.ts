import type { Random } from '../../runtime/random.js';
import { deliveryDisableSeconds, deliveryRetrySeconds } from '../../wire/limits.js';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Waits after the first, second, … failed attempt; the last one repeats until the window ends. */
export const retryDelaysMs = [
  5 * second,
  1 * minute,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  12 * hour,
] as const;
/** Either way, so that what failed together does not come back together. */
const jitterShare = 0.2;

export const deliveryWindowMs = deliveryRetrySeconds * second;
export const disableAfterMs = deliveryDisableSeconds * second;

export interface Progress {
  /** Creation or last resend. */
  readonly windowFrom: number;
  /** Failed attempts since then, the one just made included. */
  readonly failures: number;
}

/**
 * When a failed delivery is tried next, or null when its window is over. The last try falls on the window's very
 * end instead of being skipped, so 72 hours are 72 hours.
 */
export function nextTry(progress: Progress, now: number, random: Random): number | null {
  const end = progress.windowFrom + deliveryWindowMs;
  if (now >= end) return null;
  const step = Math.min(progress.failures, retryDelaysMs.length) - 1;
  const delay = retryDelaysMs[step] ?? retryDelaysMs[0];
  const jittered = delay * (1 - jitterShare + 2 * jitterShare * random.fraction());
  return Math.min(now + Math.round(jittered), end);
}

/** One success ends a streak; three days of nothing but failures disable. */
export function streakAfter(
  failingSince: number | null,
  succeeded: boolean,
  now: number,
): { readonly failingSince: number | null; readonly disable: boolean } {
  if (succeeded) return { failingSince: null, disable: false };
  const since = failingSince ?? now;
  return { failingSince: since, disable: now - since >= disableAfterMs };
}
