import type { Clock } from '../runtime/clock.js';
import type { Fetch } from './fetch/fetch.js';
import { dateMillis } from './rate-limit-wait.js';

/**
 * The platform's clock, as its answers tell it. Windows and resets are moments there; ours may be minutes or a
 * year off, and a block measured with a wrong clock would hold a source for as long.
 */
export class PlatformTime {
  /** What the time was there, and on both clocks here, when an answer last told it. */
  #told: { readonly there: number; readonly wall: number; readonly monotonic: number } | null = null;

  constructor(readonly clock: Clock) {}

  /**
   * A wall clock that was set back says that too little time has passed, and so does a monotonic one that stood still
   * while the machine slept: whichever says more is believed. One set forward says too much: see `isUnsure`.
   */
  now(): number {
    if (this.#told === null) return this.clock.now();
    const { there, wall, monotonic } = this.#told;
    return there + Math.max(this.clock.now() - wall, this.clock.monotonic() - monotonic);
  }

  /** Our two clocks do not agree on how long ago it was told: one of them was set, or the machine slept. */
  get isUnsure(): boolean {
    if (this.#told === null) return true;
    const { wall, monotonic } = this.#told;
    return Math.abs(this.clock.now() - wall - (this.clock.monotonic() - monotonic)) > 1000;
  }

  /** How far the platform's clock is ahead of ours. Nought until an answer was seen. */
  get aheadMillis(): number {
    return this.now() - this.clock.now();
  }

  /** How long ago an answer told the time. */
  get sinceObservedMillis(): number {
    return this.#told === null ? Number.POSITIVE_INFINITY : this.clock.monotonic() - this.#told.monotonic;
  }

  /** A layer that listens to the `Date` of every answer. */
  listen(fetch: Fetch): Fetch {
    return async (call) => {
      const sentAt = this.now();
      const answer = await fetch(call);
      const date = dateMillis(answer);
      if (date !== undefined) this.#observe(date, sentAt);
      return answer;
    };
  }

  /** `Date` has whole seconds and was written somewhere between sending and now; within that, nothing is to correct. */
  #observe(date: number, sentAt: number): void {
    const now = this.now();
    const there = date < sentAt - 1000 || date > now ? date : now;
    this.#told = { there, wall: this.clock.now(), monotonic: this.clock.monotonic() };
  }
}
