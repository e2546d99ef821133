import type { Clock } from '../runtime/clock.js';
import type { Fetch } from './fetch/fetch.js';
import { dateMillis } from './rate-limit-wait.js';

/**
 * Estimates the platform's clock from the `Date` of its responses. Rate limit windows and resets are times on that
 * clock. Ours may be minutes or a year off, and a block measured with a wrong clock would stop a source for as long.
 */
export class PlatformTime {
  /** The platform's time in the last response, and both local clocks at that moment. */
  #reading: { readonly platformMillis: number; readonly wall: number; readonly monotonic: number } | null =
    null;

  constructor(readonly clock: Clock) {}

  /**
   * Returns the estimated platform time. A wall clock that was set back, and a monotonic clock that stopped while the
   * machine slept, both report too little elapsed time, so the larger value wins. A wall clock set forward reports
   * too much: see `isUnsure`.
   */
  now(): number {
    if (this.#reading === null) return this.clock.now();
    const { platformMillis, wall, monotonic } = this.#reading;
    return platformMillis + Math.max(this.clock.now() - wall, this.clock.monotonic() - monotonic);
  }

  /**
   * Whether the two local clocks disagree about the time since the last response: one was set, or the machine slept.
   */
  get isUnsure(): boolean {
    if (this.#reading === null) return true;
    const { wall, monotonic } = this.#reading;
    return Math.abs(this.clock.now() - wall - (this.clock.monotonic() - monotonic)) > 1000;
  }

  /** How far the platform's clock is ahead of ours; 0 before the first response. */
  get aheadMillis(): number {
    return this.now() - this.clock.now();
  }

  /** Milliseconds since a response last reported the time. */
  get sinceObservedMillis(): number {
    return this.#reading === null
      ? Number.POSITIVE_INFINITY
      : this.clock.monotonic() - this.#reading.monotonic;
  }

  /** Wraps `fetch` and records the `Date` of every response. */
  listen(fetch: Fetch): Fetch {
    return async (call) => {
      const sentAt = this.now();
      const answer = await fetch(call);
      const date = dateMillis(answer);
      if (date !== undefined) this.#observe(date, sentAt);
      return answer;
    };
  }

  /**
   * `Date` has whole seconds and was written between sending and now. A difference within that range needs no
   * correction.
   */
  #observe(date: number, sentAt: number): void {
    const now = this.now();
    const platformMillis = date < sentAt - 1000 || date > now ? date : now;
    this.#reading = { platformMillis, wall: this.clock.now(), monotonic: this.clock.monotonic() };
  }
}
