import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Listed } from './ports.js';

const minuteMillis = 60_000;
const hourMillis = 60 * minuteMillis;

/**
 * How long after its n-th start a listing that met a 410 may start again. It grows from a minute to an hour, and
 * then to four: a platform whose cursors expire faster than a listing takes will not be mended within the hour,
 * and whoever always answers 410 sees ten listings on the first day and six on each that follows.
 */
const spacingMillis = [1, 4, 16, 60].map((minutes) => minutes * minuteMillis);
const spacingMillisMax = 4 * hourMillis;

/** A 410 this long after the last listing is ordinary expiry, not a loop: start again at once. */
const quietMillis = 24 * hourMillis;

export interface Restart {
  readonly restarts: number;
  readonly notBefore: Instant | null;
}

export const freshStart: Restart = { restarts: 0, notBefore: null };

/** The next start of a listing that a 410 ended in the middle. */
export function restartAfter(restarts: number, now: number): Restart {
  const wait = spacingMillis[restarts] ?? spacingMillisMax;
  return { restarts: restarts + 1, notBefore: instantFromMillis(now + wait) };
}

/** The next listing when a 410 voided the position behind a complete one. */
export function relistAfter(listed: Listed, now: number): Restart {
  return now - millisOf(listed.at) >= quietMillis ? freshStart : restartAfter(listed.restarts, now);
}
