import type { SourceName } from '../domain/ids.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import {
  type Inbox,
  type Lane,
  laneOf,
  type PendingEvent,
  type Settlement,
  sourcesOf,
  type Ticked,
  type Ticks,
} from './ports.js';

export interface DrainParts {
  readonly inbox: Inbox;
  readonly ticks: Ticks;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Sources that exist: what a former configuration left for others is nobody's any more. */
  readonly sources: readonly SourceName[];
}

export interface DrainStatus {
  readonly worked: number;
  /** Looked for in vain: the feed had not reached them when their source was read. */
  readonly retried: number;
  readonly givenUp: number;
}

export interface Drain extends Closable {
  /** Takes up what an earlier process left. */
  start(): Promise<void>;
  /** An event is on disk: look soon. */
  accepted(sources: readonly SourceName[]): void;
  status(): DrainStatus;
}

/**
 * Seconds until the feed is looked at again for an event it does not show yet. The platform publishes within about
 * ten minutes on its common paths; ten looks cover more than an hour, and what shows later is the timer's.
 */
const gapsSeconds = [2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800] as const;

/** Events settled per transaction: a burst of thousands neither locks the mirror for long nor fills the memory. */
const batch = 500;

/** How soon a lane is looked at again whose database was busy. */
const busyRetryMillis = 5000;

/**
 * Works accepted events. The work itself is a tick of their source, so a lane is only nudged, and its events are
 * settled when a tick proves that the feed was read past them:
 *
 *   it reached the moment they speak of, or, for those that name none, it began after they came.
 *
 * A tick that failed or waits proves nothing, and nothing is settled or counted; the scheduler tries again by
 * itself. Lanes do not wait for one another; within a lane one settling follows the other.
 */
export function createDrain(parts: DrainParts): Drain {
  const { inbox, ticks, clock, logger } = parts;
  const stopping = new AbortController();
  const lastDone = new Map<SourceName, Ticked>();
  const lanes = new Map<Lane, Promise<void>>();
  const alarms = new Map<Lane, AbortController>();
  const known = new Set(parts.sources);
  const status = { worked: 0, retried: 0, givenUp: 0 };

  const sourcesHere = (lane: Lane) => sourcesOf(lane).filter((source) => known.has(source));

  const nudge = (lane: Lane) => {
    for (const source of sourcesHere(lane)) ticks.nudge(source);
  };

  /** A lane has one alarm or none; every settling sets it anew. */
  const setAlarm = (lane: Lane, at: number | null, action: () => void) => {
    alarms.get(lane)?.abort();
    alarms.delete(lane);
    if (at === null || stopping.signal.aborted) return;
    const off = new AbortController();
    alarms.set(lane, off);
    void clock.wait(at - clock.now(), off.signal).then(() => {
      if (!off.signal.aborted) action();
    });
  };

  const settleLane = async (lane: Lane) => {
    const sources = sourcesHere(lane);
    const proofs = sources.flatMap((source) => lastDone.get(source) ?? []);
    if (proofs.length < sources.length) return;
    const now = clock.now();
    const at = instantFromMillis(now);
    // Each turn asks for events behind the last one seen, and numbers only rise.
    for (let after = 0, full = true; full && !stopping.signal.aborted; ) {
      const events = await inbox.pending(lane, at, after, batch);
      full = events.length === batch;
      after = events.at(-1)?.no ?? after;
      const sorted = sort(events, proofs);
      await settle(sorted.worked, sources.length === 0 ? 'ignored' : 'worked', at);
      await settle(sorted.hopeless, 'given_up', at);
      for (const [attempts, seconds] of gapsSeconds.entries()) {
        const same = sorted.late.filter((event) => event.attempts === attempts);
        if (same.length > 0) await inbox.retry(numbers(same), instantFromMillis(now + seconds * 1000));
      }
      if (sources.length > 0) status.worked += sorted.worked.length;
      status.retried += sorted.late.length;
      status.givenUp += sorted.hopeless.length;
      if (sorted.hopeless.length > 0)
        logger.warn(
          { source: lane, count: sorted.hopeless.length },
          'events the feed never showed are left to the timer',
        );
    }
    const left = (await inbox.waiting()).find((one) => one.lane === lane);
    const due = left === undefined ? null : millisOf(left.dueAt);
    // What is due already came while the tick ran: it brought a nudge of its own.
    setAlarm(lane, due !== null && due > now ? due : null, () => nudge(lane));
  };

  const settle = async (events: readonly PendingEvent[], end: Settlement, at: Instant) => {
    if (events.length > 0) await inbox.settle(numbers(events), end, at);
  };

  const work = (lane: Lane) => {
    const before = lanes.get(lane) ?? Promise.resolve();
    const next = before
      .then(() => (stopping.signal.aborted ? undefined : settleLane(lane)))
      .catch((error: unknown) => {
        logger.warn({ source: lane, error }, 'events could not be settled and are tried again');
        setAlarm(lane, clock.now() + busyRetryMillis, () => work(lane));
      });
    lanes.set(lane, next);
  };

  const unsubscribe = ticks.onTick((source, tick) => {
    if (!tick.done) return;
    lastDone.set(source, tick);
    for (const lane of new Set([source, ...lanes.keys()])) if (sourcesOf(lane).includes(source)) work(lane);
  });

  return {
    start: async () => {
      for (const { lane } of await inbox.waiting()) {
        work(lane);
        nudge(lane);
      }
    },
    accepted: (sources) => {
      const lane = laneOf(sources);
      if (lane === null) return;
      if (!lanes.has(lane)) lanes.set(lane, Promise.resolve());
      nudge(lane);
    },
    status: () => ({ ...status }),
    close: async () => {
      stopping.abort();
      unsubscribe();
      for (const off of alarms.values()) off.abort();
      await Promise.all(lanes.values());
    },
  };
}

/** What ticks of all of a lane's sources prove about its events; what they prove nothing about is left out. */
function sort(events: readonly PendingEvent[], proofs: readonly Ticked[]) {
  const worked = events.filter((event) => proofs.every((proof) => reaches(proof, event)));
  const tried = events.filter(
    (event) => !worked.includes(event) && proofs.every((proof) => beganAfter(proof, event)),
  );
  const hopeless = tried.filter((event) => event.attempts >= gapsSeconds.length);
  return { worked, hopeless, late: tried.filter((event) => !hopeless.includes(event)) };
}

function reaches(proof: Ticked, event: PendingEvent): boolean {
  if (event.observedAt === null || proof.publishedThrough === null) return beganAfter(proof, event);
  return millisOf(proof.publishedThrough) >= millisOf(event.observedAt);
}

const beganAfter = (proof: Ticked, event: PendingEvent) =>
  millisOf(proof.startedAt) >= millisOf(event.receivedAt);

const numbers = (events: readonly PendingEvent[]) => events.map(({ no }) => no);
