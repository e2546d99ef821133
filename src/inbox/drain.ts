import type { SourceName } from '../domain/ids.js';
import { instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { provesNothing } from './classify-events.js';
import { LaneAlarms } from './lane-alarms.js';
import { LaneQueue } from './lane-queue.js';
import { LaneSources } from './lane-sources.js';
import {
  type Inbox,
  type Lane,
  laneOf,
  type Others,
  ownLane,
  type Proof,
  type Ticked,
  type Ticks,
} from './ports.js';
import { batch, type Settled, settleLane } from './settle-lane.js';

export interface DrainParts {
  readonly inbox: Inbox;
  readonly ticks: Ticks;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The sources at the start. Events that an earlier configuration left for other sources belong to none. */
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
  /** Sources were added: their events are worked from now on. */
  added(sources: readonly SourceName[]): void;
  /** Sources were removed: events that belong to no other source are ignored. */
  removed(sources: readonly SourceName[]): void;
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

/**
 * Largest difference allowed between the clocks of two daemons. One daemon's clock says when an event was stored,
 * another's when a tick began. A smaller difference between the two proves nothing.
 */
const clocksApartMillis = 60_000;

/**
 * Works accepted events. The work is a tick of their source, so an event only nudges its lane. It is settled when a
 * tick proves that the feed was read past it:
 *
 *   the feed reached the event's time or, for an event without one, the tick began after it arrived.
 *
 * A tick that failed or waits proves nothing: no event is settled and no attempt is counted, and the scheduler
 * retries by itself. Ticks of other daemons count only as committed; their messages are just a reason to look.
 *
 * `LaneSources` knows the sources of a lane and their proofs, `settleLane` settles one lane, `LaneQueue` runs the
 * settlements, and `LaneAlarms` rings when events of a lane are due again.
 */
export function createDrain(parts: DrainParts): Drain {
  return new LaneDrain(parts);
}

class LaneDrain implements Drain {
  readonly #stopping = new AbortController();
  readonly #sources: LaneSources;
  readonly #alarms: LaneAlarms;
  readonly #queue: LaneQueue;
  readonly #unsubscribe: () => void;
  #status: DrainStatus = { worked: 0, retried: 0, givenUp: 0 };

  constructor(private readonly parts: DrainParts) {
    const { inbox, sources, others, clock, logger } = parts;
    this.#sources = new LaneSources({ inbox, sources, others });
    this.#alarms = new LaneAlarms(clock);
    this.#queue = new LaneQueue({
      clock,
      logger,
      alarms: this.#alarms,
      settle: (lane) => this.#settle(lane),
    });
    this.#unsubscribe = parts.ticks.onTick((source, tick) => this.#ticked(source, tick));
  }

  async start(): Promise<void> {
    for (const { lane } of await this.parts.inbox.waiting()) {
      this.#queue.settle(lane);
      this.#nudge(lane);
    }
  }

  added(sources: readonly SourceName[]): void {
    for (const source of sources) this.#sources.add(source);
  }

  removed(sources: readonly SourceName[]): void {
    for (const source of sources) this.#sources.remove(source);
    for (const lane of new Set(
      sources.flatMap((source) => [ownLane(source), ...this.#queue.lanesOf(source)]),
    ))
      this.#queue.settle(lane);
  }

  accepted(sources: readonly SourceName[]): void {
    const lane = laneOf(sources);
    if (lane === null) return;
    this.#queue.add(lane);
    this.#nudge(lane);
    if (!sources.every((source) => this.#sources.isHere(source))) this.parts.others?.announceAccepted(lane);
  }

  heardAccepted(lane: Lane): void {
    if (this.#sources.of(lane).length === 0) return;
    this.#queue.add(lane);
    this.#nudge(lane);
  }

  heardTicked(source: SourceName): void {
    for (const lane of this.#queue.lanesOf(source)) if (lane !== ownLane(source)) this.#queue.settle(lane);
  }

  async look(): Promise<void> {
    const now = this.parts.clock.now();
    for (const { lane, dueAt } of await this.parts.inbox.waiting()) {
      this.#queue.add(lane);
      if (millisOf(dueAt) > now) continue;
      const all = this.#sources.of(lane);
      const here = this.#sources.here(lane);
      // Another daemon's report that it read its sources may have been lost.
      if (all.length === 0 || (here.length > 0 && here.length < all.length)) this.#queue.settle(lane);
      for (const source of here) {
        const tick = this.#sources.lastDone(source);
        // An event whose source was read since is settled by that tick, or has an alarm.
        if (tick === undefined || tick.startedAt < dueAt) this.parts.ticks.nudge(source);
      }
    }
  }

  databaseIsBack(): void {
    this.#queue.settleStuck();
  }

  status(): DrainStatus {
    return this.#status;
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    this.#unsubscribe();
    this.#alarms.close();
    await this.#queue.ended();
  }

  #nudge(lane: Lane): void {
    for (const source of this.#sources.here(lane)) this.parts.ticks.nudge(source);
  }

  #ticked(source: SourceName, tick: Ticked): void {
    if (!tick.done) return;
    this.#sources.ticked(source, tick);
    const concerned = [...new Set([ownLane(source), ...this.#queue.lanesOf(source)])];
    for (const lane of concerned) this.#queue.settle(lane);
    if (concerned.some((lane) => this.#sources.here(lane).length < this.#sources.of(lane).length))
      this.parts.others?.announceTicked(source);
  }

  /** Settles the events that ticks have proven. Returns whether events of the lane remain. */
  async #settle(lane: Lane): Promise<boolean> {
    const { inbox, clock } = this.parts;
    const now = clock.now();
    const isKnown = this.#sources.of(lane).length > 0;
    const wasShared = this.#sources.isShared(lane);
    const events = this.#sources.isSpread(lane) ? await inbox.pending(lane, 0, batch) : null;
    // More than a batch are settled without being read first.
    const isNothing = (proof: Proof) =>
      events !== null &&
      events.length < batch &&
      provesNothing(events, proof, instantFromMillis(now), clocksApartMillis);
    const proofs = await this.#sources.proofsOf(lane, now, isNothing);
    if (proofs === null) return true;
    // Sources may have changed hands while the proofs were read.
    const apartMillis = wasShared || this.#sources.isShared(lane) ? clocksApartMillis : 0;
    const onSettled = (settled: Settled) => this.#count(lane, settled);
    if (proofs !== 'nothing')
      await settleLane(inbox, { lane, proofs, isKnown, apartMillis, now, onSettled }, this.#stopping.signal);
    const left = (await inbox.waiting()).find((one) => one.lane === lane);
    const due = left === undefined ? null : millisOf(left.dueAt);
    // An event that is due already arrived during the tick and nudged its source itself.
    this.#alarms.set(lane, due !== null && due > now ? due : null, () => this.#nudge(lane));
    return left !== undefined;
  }

  #count(lane: Lane, { worked, retried, givenUp }: Settled): void {
    this.#status = {
      worked: this.#status.worked + worked,
      retried: this.#status.retried + retried,
      givenUp: this.#status.givenUp + givenUp,
    };
    if (givenUp > 0)
      this.parts.logger.warn(
        { source: lane, count: givenUp },
        'the feed never showed these events; they are left to timed ticks',
      );
  }
}
