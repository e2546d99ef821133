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

/**
 * The same for a listing that was complete before its position expired. Twice at once: a platform whose clock was
 * set forward, or whose feed was rebuilt, is not in a loop, and readers wait for the new state.
 */
const relistMillis = [0, 0, 4, 60].map((minutes) => minutes * minuteMillis);

/** A 410 this long after the last listing is ordinary expiry, not a loop: start again at once. */
const quietMillis = 24 * hourMillis;

export interface Restart {
  readonly restarts: number;
  readonly notBefore: Instant | null;
}

export const freshStart: Restart = { restarts: 0, notBefore: null };

/** The next start of a listing that a 410 ended in the middle. */
export function restartAfter(restarts: number, now: number): Restart {
  return startIn(spacingMillis[restarts] ?? spacingMillisMax, restarts, now);
}

/** The next listing when a 410 voided the position behind a complete one. */
export function relistAfter({ at, restarts }: Listed, now: number): Restart {
  if (now - millisOf(at) >= quietMillis) return freshStart;
  return startIn(relistMillis[restarts] ?? spacingMillisMax, restarts, now);
}

/**
 * The listing that brings names back after the grant did; null while it is too early. It counts as a start behind the
 * last complete listing, as one after a 410 does, so that a grant which comes and goes has the same bound: two at once,
 * then ten on the first day and six on each that follows. Until its time comes the source goes on following the feed.
 */
export function relistNames({ at, restarts }: Listed, now: number): Restart | null {
  const sinceLast = now - millisOf(at);
  if (sinceLast >= quietMillis) return { restarts: 1, notBefore: null };
  const waitMillis = relistMillis[restarts] ?? spacingMillisMax;
  // A listing of the future was published before the clock was set back, and means nothing now.
  return sinceLast >= waitMillis || sinceLast < 0 ? { restarts: restarts + 1, notBefore: null } : null;
}

function startIn(waitMillis: number, restarts: number, now: number): Restart {
  return { restarts: restarts + 1, notBefore: waitMillis === 0 ? null : instantFromMillis(now + waitMillis) };
}

/** A moment further off than any spacing was written before the clock was set back, and means nothing now. */
export function mayStart(notBefore: Instant | null, now: number): boolean {
  const waitMillis = notBefore === null ? 0 : millisOf(notBefore) - now;
  return waitMillis <= 0 || waitMillis > spacingMillisMax;
}
