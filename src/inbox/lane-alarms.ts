import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Lane } from './ports.js';

/** At most one alarm for each lane. */
export class LaneAlarms {
  readonly #alarms = new Map<Lane, Interrupter>();
  #closed = false;

  constructor(private readonly clock: Clock) {}

  /** Replaces the alarm of the lane, or removes it when `at` is null. `at` is on the wall clock. */
  set(lane: Lane, at: number | null, action: () => void): void {
    this.#alarms.get(lane)?.abort();
    this.#alarms.delete(lane);
    if (at === null || this.#closed) return;
    const off = new Interrupter();
    this.#alarms.set(lane, off);
    void this.clock.wait(at - this.clock.now(), off).then(() => {
      if (!off.aborted) action();
    });
  }

  close(): void {
    this.#closed = true;
    for (const off of this.#alarms.values()) off.abort();
  }
}
