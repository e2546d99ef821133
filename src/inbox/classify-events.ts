import { type Instant, millisOf } from '../domain/instant.js';
import type { PendingEvent, Proof } from './ports.js';

/**
 * Seconds until the feed is looked at again for an event it does not show yet. The platform publishes within about
 * ten minutes on its common paths; ten looks cover more than an hour, and what shows later is the timer's.
 */
export const gapsSeconds = [2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800] as const;

/**
 * What ticks of all of a lane's sources prove about its events; what they prove nothing about is left out. What was
 * reached is worked whether it was due or not: when it is due was told by a clock that may have been wrong.
 */
export function proven(
  events: readonly PendingEvent[],
  proofs: readonly Proof[],
  at: Instant,
  apartMillis: number,
) {
  const told = events.map((event) => withoutFuture(event, at));
  const worked = told.filter((event) => proofs.every((proof) => reaches(proof, event, apartMillis)));
  const tried = told.filter(
    (event) =>
      !worked.includes(event) &&
      isDue(event, at) &&
      (event.isUndated || proofs.every((proof) => beganAfter(proof, event))),
  );
  const hopeless = tried.filter((event) => event.attempts >= gapsSeconds.length);
  return { worked, hopeless, late: tried.filter((event) => !hopeless.includes(event)) };
}

/** No event waits longer for its next look, and no host's clock is further ahead of another's. */
const gapMillisMax = 1_000 * Math.max(...gapsSeconds);
const clocksApartMillis = 60_000;

interface Dated extends PendingEvent {
  /** When it came is not known, and it was not looked for yet. */
  readonly isUndated: boolean;
}

/**
 * Times that cannot be were written under a clock that was ahead, and would keep an event waiting for as long as that
 * clock was wrong. A look put off too far is due. An event that came in the future counts from the look that was put
 * off since: the clock is right again by then.
 */
function withoutFuture(event: PendingEvent, at: Instant): Dated {
  const now = millisOf(at);
  const { receivedAt } = event;
  const isAhead = event.nextAt !== null && millisOf(event.nextAt) - now > gapMillisMax + clocksApartMillis;
  const nextAt = isAhead ? null : event.nextAt;
  if (millisOf(receivedAt) - now <= clocksApartMillis) return { ...event, nextAt, isUndated: false };
  return { ...event, nextAt, receivedAt: nextAt ?? at, isUndated: nextAt === null };
}

const isDue = ({ nextAt }: PendingEvent, at: Instant) => nextAt === null || nextAt <= at;

function reaches(proof: Proof, event: PendingEvent, apartMillis: number): boolean {
  if (event.observedAt === null || proof.publishedThrough === null)
    return beganAfter(proof, event, apartMillis);
  return millisOf(proof.publishedThrough) >= millisOf(event.observedAt);
}

const beganAfter = (proof: Proof, event: PendingEvent, apartMillis = 0) =>
  millisOf(proof.startedAt) - apartMillis >= millisOf(event.receivedAt);
