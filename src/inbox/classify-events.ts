import { type Instant, millisOf } from '../domain/instant.js';
import type { PendingEvent, Proof } from './ports.js';

/**
 * Seconds between two reads of the feed for an event that it does not show yet. The platform publishes within about
 * ten minutes on its common paths. Ten attempts cover more than an hour; later changes are found by timed ticks.
 */
export const gapsSeconds = [2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800] as const;

/**
 * Returns what the ticks of all of a lane's sources prove about its events: `worked`, `exhausted` after the last
 * attempt, and `late` for another attempt. Events with no proof either way are left out. An event that the feed
 * reached is worked whether it was due or not, because its due time may come from a wrong clock.
 */
export function classifyEvents(
  events: readonly PendingEvent[],
  proofs: readonly Proof[],
  at: Instant,
  apartMillis: number,
) {
  const dated = events.map((event) => withoutFuture(event, at));
  const worked = dated.filter((event) => proofs.every((proof) => reaches(proof, event, apartMillis)));
  const tried = dated.filter(
    (event) =>
      !worked.includes(event) &&
      isDue(event, at) &&
      (event.isUndated || proofs.every((proof) => beganAfter(proof, event))),
  );
  const exhausted = tried.filter((event) => event.attempts >= gapsSeconds.length);
  return { worked, exhausted, late: tried.filter((event) => !exhausted.includes(event)) };
}

/** Returns whether no event could be settled or tried again, whatever the other sources of the lane prove. */
export function provesNothing(
  events: readonly PendingEvent[],
  proof: Proof,
  at: Instant,
  apartMillis: number,
): boolean {
  return events
    .map((event) => withoutFuture(event, at))
    .every(
      (event) =>
        !reaches(proof, event, apartMillis) &&
        !(isDue(event, at) && (event.isUndated || beganAfter(proof, event))),
    );
}

/** The longest wait between two attempts, and the largest difference between the clocks of two hosts. */
const gapMillisMax = 1_000 * Math.max(...gapsSeconds);
const clocksApartMillis = 60_000;

interface Dated extends PendingEvent {
  /** The arrival time is unknown, and no attempt was made yet. */
  readonly isUndated: boolean;
}

/**
 * Corrects times in the future. They were written while a clock was ahead and would delay the event for as long as
 * that clock was wrong. A `nextAt` too far ahead counts as due. An event received in the future counts from its
 * `nextAt`, if it has one: the clock was right again when that was written.
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
