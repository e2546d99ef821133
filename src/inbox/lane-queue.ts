import { setImmediate } from 'node:timers/promises';
import type { SourceName } from '../domain/ids.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { LaneAlarms } from './lane-alarms.js';
import { everyLane, type Lane, sourcesOf } from './ports.js';

/** When to retry a lane whose database was busy, and how often to log that. */
const busyRetryMillis = 5000;
const stuckMillis = 3_600_000;

export interface LaneQueueParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly alarms: LaneAlarms;
  /** Settles the events of a lane that ticks have proven. Returns whether events of the lane remain. */
  readonly settle: (lane: Lane) => Promise<boolean>;
}

/**
 * Runs the settlements. Those of one lane run one after the other, and lanes are independent. A settlement that fails is
 * retried.
 */
export class LaneQueue {
  /** The lanes with events, each with its last settlement. */
  readonly #lanes = new Map<Lane, Promise<void>>();
  readonly #bySource = new Map<SourceName, Set<Lane>>();
  readonly #queued = new Set<Lane>();
  /** When it was last logged that a lane cannot be settled. */
  readonly #reportedStuck = new Map<Lane, number>();

  constructor(private readonly parts: LaneQueueParts) {}

  /** Returns the lanes with events that the source belongs to. */
  lanesOf(source: SourceName): readonly Lane[] {
    const lanes = [...(this.#bySource.get(source) ?? [])];
    return this.#lanes.has(everyLane) ? [...lanes, everyLane] : lanes;
  }

  /** Adds a lane with events. Renews its promise, so that a lane found empty at this moment is not dropped. */
  add(lane: Lane): void {
    this.#set(lane, this.#lanes.get(lane)?.then(() => {}) ?? Promise.resolve());
  }

  /** Settles the lane soon. A queued settlement already covers this request. */
  settle(lane: Lane): void {
    if (this.#queued.has(lane)) return;
    this.#queued.add(lane);
    const before = this.#lanes.get(lane) ?? Promise.resolve();
    const next: Promise<void> = before
      // Requests on the sockets go first: settling waits for the disk, and no client waits for it.
      .then(() => setImmediate())
      .then(() => {
        this.#queued.delete(lane);
        return this.parts.settle(lane);
      })
      .then((left) => {
        this.#reportedStuck.delete(lane);
        if (!left && this.#lanes.get(lane) === next) this.#delete(lane);
      })
      .catch((error: unknown) => this.#failed(lane, error));
    this.#set(lane, next);
  }

  #set(lane: Lane, last: Promise<void>): void {
    if (!this.#lanes.has(lane))
      for (const source of sourcesOf(lane)) {
        const lanes = this.#bySource.get(source);
        if (lanes === undefined) this.#bySource.set(source, new Set([lane]));
        else lanes.add(lane);
      }
    this.#lanes.set(lane, last);
  }

  #delete(lane: Lane): void {
    this.#lanes.delete(lane);
    for (const source of sourcesOf(lane)) {
      const lanes = this.#bySource.get(source);
      lanes?.delete(lane);
      if (lanes?.size === 0) this.#bySource.delete(source);
    }
  }

  /** Settles the lanes whose last settlement failed. */
  settleStuck(): void {
    for (const lane of this.#reportedStuck.keys()) this.settle(lane);
  }

  /** Resolves when no settlement is running. */
  async ended(): Promise<void> {
    await Promise.all(this.#lanes.values());
  }

  #failed(lane: Lane, error: unknown): void {
    const { clock, logger, alarms } = this.parts;
    const reported = this.#reportedStuck.get(lane);
    const due = reported === undefined || clock.monotonic() - reported >= stuckMillis;
    if (due) this.#reportedStuck.set(lane, clock.monotonic());
    logger[due ? 'warn' : 'debug'](
      { source: lane, error },
      'events could not be settled and will be retried',
    );
    alarms.set(lane, clock.now() + busyRetryMillis, () => this.settle(lane));
  }
}
