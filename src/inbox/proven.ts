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
  const worked = events.filter((event) => proofs.every((proof) => reaches(proof, event, apartMillis)));
  const tried = events.filter(
    (event) =>
      !worked.includes(event) && isDue(event, at) && proofs.every((proof) => beganAfter(proof, event)),
  );
  const hopeless = tried.filter((event) => event.attempts >= gapsSeconds.length);
  return { worked, hopeless, late: tried.filter((event) => !hopeless.includes(event)) };
}

const isDue = ({ nextAt }: PendingEvent, at: Instant) => nextAt === null || nextAt <= at;

function reaches(proof: Proof, event: PendingEvent, apartMillis: number): boolean {
  if (event.observedAt === null || proof.publishedThrough === null)
    return beganAfter(proof, event, apartMillis);
  return millisOf(proof.publishedThrough) >= millisOf(event.observedAt);
}

const beganAfter = (proof: Proof, event: PendingEvent, apartMillis = 0) =>
  millisOf(proof.startedAt) - apartMillis >= millisOf(event.receivedAt);
