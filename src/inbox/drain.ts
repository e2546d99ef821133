import { setImmediate } from 'node:timers/promises';
import type { SourceName } from '../domain/ids.js';
import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { gapsSeconds, proven } from './classify-events.js';
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
  /** Sources that exist: what a former configuration left for others is nobody's any more. */
  readonly sources: readonly SourceName[];
  /** None where the database is one daemon's alone. */
  readonly others?: Others;
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
  /** Another daemon stored events of this lane. */
  heardAccepted(lane: Lane): void;
  /** Another daemon is said to have read this source to its end. */
  heardTicked(source: SourceName): void;
  /** Looks for events that nobody spoke of: whoever stored them may have died right after. */
  look(): Promise<void>;
  /** The database is back: lanes that could not be settled are due now. */
  databaseIsBack(): void;
  status(): DrainStatus;
}

/** Events settled per transaction: a burst of thousands neither locks the mirror for long nor fills the memory. */
const batch = 500;

/**
 * How far the clocks of two daemons may be apart. When an event was stored is told by the clock of the one who took
 * it, when a tick began by that of another; nothing is proven by less than this.
 */
const clocksApartMillis = 60_000;

/** How long deliveries wait for a daemon that knows their sources. */
const strangeMillis = 24 * 3_600_000;

/** How soon a lane is looked at again whose database was busy, and how often that is worth a word. */
const busyRetryMillis = 5000;
const stuckMillis = 3_600_000;

/**
 * Works accepted events. The work itself is a tick of their source, so a lane is only nudged, and its events are
 * settled when a tick proves that the feed was read past them:
 *
 *   it reached the moment they speak of, or, for those that name none, it began after they came.
 *
 * A tick that failed or waits proves nothing, and nothing is settled or counted; the scheduler tries again by
 * itself. What another daemon ticked is proven by its commits alone: what is said of it is only a reason to look.
 * Lanes do not wait for one another; within a lane one settling follows the other.
 */
export function createDrain(parts: DrainParts): Drain {
  const { inbox, ticks, clock, logger, others } = parts;
  const stopping = new AbortController();
  /** Of the sources worked here. */
  const lastDone = new Map<SourceName, Proof>();
  const lanes = new Map<Lane, Promise<void>>();
  const queued = new Set<Lane>();
  const alarms = new Map<Lane, Interrupter>();
  /** When it was last told that a lane cannot be settled. */
  const toldStuck = new Map<Lane, number>();
  const known = new Set(parts.sources);
  const status = { worked: 0, retried: 0, givenUp: 0 };

  const sourcesHere = (lane: Lane) => sourcesOf(lane).filter((source) => known.has(source));

  const worksHere = (source: SourceName) => others?.worksHere(source) !== false;

  const nudge = (lane: Lane) => {
    for (const source of sourcesHere(lane)) if (worksHere(source)) ticks.nudge(source);
  };

  /** Again each time: a lane that is just being found empty is not forgotten then. */
  const know = (lane: Lane) => {
    lanes.set(lane, lanes.get(lane)?.then(() => {}) ?? Promise.resolve());
  };

  /** A lane has one alarm or none; every settling sets it anew. */
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

  /** Answers whether anything is left of the lane. */
  const settleLane = async (lane: Lane): Promise<boolean> => {
    const sources = sourcesHere(lane);
    const elsewhere = sources.filter((source) => !worksHere(source));
    const now = clock.now();
    const proofs = sources.length === 0 ? nobodys(now) : await proofsOf(sources, elsewhere);
    if (proofs === null) return true;
    const shared = elsewhere.length > 0 || others?.alone() === false;
    const at = instantFromMillis(now);
    // Each turn asks for events behind the last one seen, and numbers only rise.
    for (let after = 0, full = true; full; ) {
      const events = await inbox.pending(lane, after, batch);
      // What a tick has proven before a stop is settled with it, as far as one turn goes.
      full = events.length === batch && !stopping.signal.aborted;
      after = events.at(-1)?.no ?? after;
      const sorted = proven(events, proofs, at, shared ? clocksApartMillis : 0);
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
    return left !== undefined;
  };

  /** What this configuration does not know may stand in that of another daemon, which may only be gone for a while. */
  const nobodys = (now: number): readonly Proof[] | null => {
    if (others === undefined) return [];
    const startedAt = instantFromMillis(now - strangeMillis);
    return others.alone() ? [{ startedAt, publishedThrough: null }] : null;
  };

  /** Null while one of them is missing. Those of this daemon first, which cost nothing. */
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

  /** One that has not begun yet sees all that was reason for another. */
  const work = (lane: Lane) => {
    if (queued.has(lane)) return;
    queued.add(lane);
    const before = lanes.get(lane) ?? Promise.resolve();
    const next: Promise<void> = before
      // Whoever waits at a socket goes first: settling waits for the disk, and nobody waits for it.
      .then(() => setImmediate())
      .then(() => {
        queued.delete(lane);
        return settleLane(lane);
      })
      .then((left) => {
        toldStuck.delete(lane);
        if (!left && lanes.get(lane) === next) lanes.delete(lane);
      })
      .catch((error: unknown) => {
        const told = toldStuck.get(lane);
        const due = told === undefined || clock.monotonic() - told >= stuckMillis;
        if (due) toldStuck.set(lane, clock.monotonic());
        logger[due ? 'warn' : 'debug'](
          { source: lane, error },
          'events could not be settled and are tried again',
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
        // That the others were read may have been said and not heard.
        if (here.length === 0 || (mine.length > 0 && mine.length < here.length)) work(lane);
        for (const source of mine) {
          const tick = lastDone.get(source);
          // One that was read since is settled by that tick, or has an alarm.
          if (tick === undefined || tick.startedAt < dueAt) ticks.nudge(source);
        }
      }
    },
    databaseIsBack: () => {
      for (const lane of toldStuck.keys()) work(lane);
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
