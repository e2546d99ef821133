import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Listed } from './ports.js';

const minuteMillis = 60_000;
const hourMillis = 60 * minuteMillis;

/**
 * How long a listing that met a 410 waits after its n-th start. The wait grows from a minute to an hour, then to four
 * hours: a platform whose cursors expire faster than a listing takes will not be fixed within the hour. A platform
 * that always returns 410 sees ten listings on the first day and six on each following day.
 */
const spacingMillis = [1, 4, 16, 60].map((minutes) => minutes * minuteMillis);
const spacingMillisMax = 4 * hourMillis;

/**
 * The same for a listing that was complete before its position expired. The first two restarts are immediate: a
 * platform whose clock was set forward, or whose feed was rebuilt, is not looping, and readers wait for the new data.
 */
const relistMillis = [0, 0, 4, 60].map((minutes) => minutes * minuteMillis);

/** A 410 this long after the last listing is ordinary expiry, not a loop, so the listing restarts immediately. */
const quietMillis = 24 * hourMillis;

export interface Restart {
  readonly restarts: number;
  readonly notBefore: Instant | null;
}

export const freshStart: Restart = { restarts: 0, notBefore: null };

/** Returns the next start of a listing that a 410 interrupted. */
export function restartAfter(restarts: number, now: number): Restart {
  return startIn(spacingMillis[restarts] ?? spacingMillisMax, restarts, now);
}

/** Returns the next listing after a 410 voided the position of a complete one. */
export function relistAfter({ at, restarts }: Listed, now: number): Restart {
  if (now - millisOf(at) >= quietMillis) return freshStart;
  return startIn(relistMillis[restarts] ?? spacingMillisMax, restarts, now);
}

/**
 * Returns the relisting that fetches names after the grant came back, or null while it is too early. It counts as a
 * restart after the last complete listing, as after a 410, so a grant that comes and goes has the same bound: two at
 * once, ten on the first day and six on each following day. Until then the source keeps following the feed.
 */
export function relistNames({ at, restarts }: Listed, now: number): Restart | null {
  const sinceLast = now - millisOf(at);
  if (sinceLast >= quietMillis) return { restarts: 1, notBefore: null };
  const waitMillis = relistMillis[restarts] ?? spacingMillisMax;
  // A listing dated in the future was published before the clock was set back; its age means nothing.
  return sinceLast >= waitMillis || sinceLast < 0 ? { restarts: restarts + 1, notBefore: null } : null;
}

function startIn(waitMillis: number, restarts: number, now: number): Restart {
  return { restarts: restarts + 1, notBefore: waitMillis === 0 ? null : instantFromMillis(now + waitMillis) };
}

/**
 * Returns whether a listing may start. A time further ahead than any spacing was stored before the clock was set back
 * and is ignored.
 */
export function mayStart(notBefore: Instant | null, now: number): boolean {
  const waitMillis = notBefore === null ? 0 : millisOf(notBefore) - now;
  return waitMillis <= 0 || waitMillis > spacingMillisMax;
}
