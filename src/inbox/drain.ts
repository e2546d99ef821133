import { setImmediate } from 'node:timers/promises';
import type { SourceName } from '../domain/ids.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { classifyEvents, gapsSeconds } from './classify-events.js';
import {
  type Inbox,
  type Lane,
  laneOf,
  type Others,
  type PendingEvent,
  type Proof,
  type Settlement,
  sourcesOf,
  type Ticks,
} from './ports.js';

export interface DrainParts {
  readonly inbox: Inbox;
  readonly ticks: Ticks;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Configured sources. Events that an earlier configuration left for other sources belong to none. */
  readonly sources: readonly SourceName[];
  /** Other daemons on the same database; absent when there are none. */
  readonly others?: Others;
}

export interface DrainStatus {
  readonly worked: number;
  /** Attempts that found nothing: the feed had not reached the event when its source was read. */
  readonly retried: number;
  readonly givenUp: number;
}

export interface Drain extends Closable {
  /** Resumes the events that an earlier process left. */
  start(): Promise<void>;
  /** An event is stored: tick its sources soon. */
  accepted(sources: readonly SourceName[]): void;
  /** Another daemon reports that it stored events of this lane. */
  heardAccepted(lane: Lane): void;
  /** Another daemon reports that it read this source to its end. */
  heardTicked(source: SourceName): void;
  /** Looks for unannounced events: the process that stored them may have died right after. */
  look(): Promise<void>;
  /** The database is back: lanes that could not be settled are due now. */
  databaseIsBack(): void;
  status(): DrainStatus;
}

/** Events settled per transaction, so a burst of thousands neither locks the mirror for long nor fills the memory. */
const batch = 500;

/**
 * Largest difference allowed between the clocks of two daemons. One daemon's clock says when an event was stored,
 * another's when a tick began. A smaller difference between the two proves nothing.
 */
const clocksApartMillis = 60_000;

/** How long deliveries wait for a daemon that knows their sources. */
const strangeMillis = 24 * 3_600_000;

/** When to retry a lane whose database was busy, and how often to log that. */
const busyRetryMillis = 5000;
const stuckMillis = 3_600_000;

/**
 * Works accepted events. The work is a tick of their source, so an event only nudges its lane. It is settled when a
 * tick proves that the feed was read past it:
 *
 *   the feed reached the event's time or, for an event without one, the tick began after it arrived.
 *
 * A tick that failed or waits proves nothing: no event is settled and no attempt is counted, and the scheduler
 * retries by itself. Ticks of other daemons count only as committed; their messages are just a reason to look. Lanes
 * are independent; settlements of one lane run one after the other.
 */
export function createDrain(parts: DrainParts): Drain {
  const { inbox, ticks, clock, logger, others } = parts;
  const stopping = new AbortController();
  /** For sources that this daemon works. */
  const lastDone = new Map<SourceName, Proof>();
  const lanes = new Map<Lane, Promise<void>>();
  const queued = new Set<Lane>();
  const alarms = new Map<Lane, Interrupter>();
  /** When it was last logged that a lane cannot be settled. */
  const reportedStuck = new Map<Lane, number>();
  const known = new Set(parts.sources);
  const status = { worked: 0, retried: 0, givenUp: 0 };

  const sourcesHere = (lane: Lane) => sourcesOf(lane).filter((source) => known.has(source));

  const worksHere = (source: SourceName) => others?.worksHere(source) !== false;

  const nudge = (lane: Lane) => {
    for (const source of sourcesHere(lane)) if (worksHere(source)) ticks.nudge(source);
  };

  /** Renews the promise each time, so that a lane found empty at this moment is not dropped. */
  const know = (lane: Lane) => {
    lanes.set(lane, lanes.get(lane)?.then(() => {}) ?? Promise.resolve());
  };

  /** A lane has at most one alarm; every settlement replaces it. */
  const setAlarm = (lane: Lane, at: number | null, action: () => void) => {
    alarms.get(lane)?.abort();
    alarms.delete(lane);
    if (at === null || stopping.signal.aborted) return;
    const off = new Interrupter();
    alarms.set(lane, off);
    void clock.wait(at - clock.now(), off).then(() => {
      if (!off.aborted) action();
    });
  };

  /** Settles the events that ticks have proven. Returns whether events of the lane remain. */
  const settleLane = async (lane: Lane): Promise<boolean> => {
    const sources = sourcesHere(lane);
    const elsewhere = sources.filter((source) => !worksHere(source));
    const now = clock.now();
    const proofs = sources.length === 0 ? proofsOfUnknown(now) : await proofsOf(sources, elsewhere);
    if (proofs === null) return true;
    const shared = elsewhere.length > 0 || others?.alone() === false;
    const at = instantFromMillis(now);
    // Terminates: each turn reads events after the last one seen, and numbers only rise.
    for (let after = 0, full = true; full; ) {
      const events = await inbox.pending(lane, after, batch);
      // Events proven before a stop are still settled, up to the end of this turn.
      full = events.length === batch && !stopping.signal.aborted;
      after = events.at(-1)?.no ?? after;
      const sorted = classifyEvents(events, proofs, at, shared ? clocksApartMillis : 0);
      await settle(sorted.worked, sources.length === 0 ? 'ignored' : 'worked', at);
      await settle(sorted.exhausted, 'given_up', at);
      for (const [attempts, seconds] of gapsSeconds.entries()) {
        const same = sorted.late.filter((event) => event.attempts === attempts);
        if (same.length > 0) await inbox.retry(numbers(same), instantFromMillis(now + seconds * 1000));
      }
      if (sources.length > 0) status.worked += sorted.worked.length;
      status.retried += sorted.late.length;
      status.givenUp += sorted.exhausted.length;
      if (sorted.exhausted.length > 0)
        logger.warn(
          { source: lane, count: sorted.exhausted.length },
          'the feed never showed these events; they are left to timed ticks',
        );
    }
    const left = (await inbox.waiting()).find((one) => one.lane === lane);
    const due = left === undefined ? null : millisOf(left.dueAt);
    // An event that is due already arrived during the tick and nudged its source itself.
    setAlarm(lane, due !== null && due > now ? due : null, () => nudge(lane));
    return left !== undefined;
  };

  /**
   * Returns the proofs for a lane without configured sources, or null to keep it. Another daemon, perhaps only
   * briefly away, may know its sources.
   */
  const proofsOfUnknown = (now: number): readonly Proof[] | null => {
    if (others === undefined) return [];
    const startedAt = instantFromMillis(now - strangeMillis);
    return others.alone() ? [{ startedAt, publishedThrough: null }] : null;
  };

  /** Returns null while a proof is missing. The proofs of this daemon come first, because they cost nothing. */
  const proofsOf = async (sources: readonly SourceName[], elsewhere: readonly SourceName[]) => {
    const proofs: Proof[] = [];
    for (const source of sources) {
      if (elsewhere.includes(source)) continue;
      const proof = lastDone.get(source);
      if (proof === undefined) return null;
      proofs.push(proof);
    }
    for (const source of elsewhere) {
      const proof = await inbox.proofOf(source);
      if (proof === null) return null;
      proofs.push(proof);
    }
    return proofs;
  };

  const settle = async (events: readonly PendingEvent[], end: Settlement, at: Instant) => {
    if (events.length > 0) await inbox.settle(numbers(events), end, at);
  };

  /** A queued run already covers this request. */
  const work = (lane: Lane) => {
    if (queued.has(lane)) return;
    queued.add(lane);
    const before = lanes.get(lane) ?? Promise.resolve();
    const next: Promise<void> = before
      // Requests on the sockets go first: settling waits for the disk, and no client waits for it.
      .then(() => setImmediate())
      .then(() => {
        queued.delete(lane);
        return settleLane(lane);
      })
      .then((left) => {
        reportedStuck.delete(lane);
        if (!left && lanes.get(lane) === next) lanes.delete(lane);
      })
      .catch((error: unknown) => {
        const reported = reportedStuck.get(lane);
        const due = reported === undefined || clock.monotonic() - reported >= stuckMillis;
        if (due) reportedStuck.set(lane, clock.monotonic());
        logger[due ? 'warn' : 'debug'](
          { source: lane, error },
          'events could not be settled and will be retried',
        );
        setAlarm(lane, clock.now() + busyRetryMillis, () => work(lane));
      });
    lanes.set(lane, next);
  };

  const unsubscribe = ticks.onTick((source, tick) => {
    if (!tick.done) return;
    lastDone.set(source, tick);
    const concerned = [...new Set([source, ...lanes.keys()])].filter((lane) =>
      sourcesOf(lane).includes(source),
    );
    for (const lane of concerned) work(lane);
    if (concerned.some((lane) => !sourcesHere(lane).every(worksHere))) others?.tellTicked(source);
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
      know(lane);
      nudge(lane);
      if (!sources.every(worksHere)) others?.tellAccepted(lane);
    },
    heardAccepted: (lane) => {
      if (sourcesHere(lane).length === 0) return;
      know(lane);
      nudge(lane);
    },
    heardTicked: (source) => {
      for (const lane of lanes.keys()) if (lane !== source && sourcesOf(lane).includes(source)) work(lane);
    },
    look: async () => {
      const now = clock.now();
      for (const { lane, dueAt } of await inbox.waiting()) {
        know(lane);
        if (millisOf(dueAt) > now) continue;
        const here = sourcesHere(lane);
        const mine = here.filter(worksHere);
        // Another daemon's report that it read its sources may have been lost.
        if (here.length === 0 || (mine.length > 0 && mine.length < here.length)) work(lane);
        for (const source of mine) {
          const tick = lastDone.get(source);
          // An event whose source was read since is settled by that tick, or has an alarm.
          if (tick === undefined || tick.startedAt < dueAt) ticks.nudge(source);
        }
      }
    },
    databaseIsBack: () => {
      for (const lane of reportedStuck.keys()) work(lane);
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

const numbers = (events: readonly PendingEvent[]) => events.map(({ no }) => no);
