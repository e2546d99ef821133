import type { Clock } from '../runtime/clock.js';
import type { Fetch } from './fetch/fetch.js';
import { dateMillis } from './rate-limit-wait.js';

/**
 * The platform's clock, as its answers tell it. Windows and resets are moments there; ours may be minutes or a
 * year off, and a block measured with a wrong clock would hold a source for as long.
 */
export class PlatformTime {
  #offsetMillis = 0;
  #observedAt: number | null = null;

  constructor(readonly clock: Clock) {}

  now(): number {
    return this.clock.now() + this.#offsetMillis;
  }

  /** How far the platform's clock is ahead of ours. Nought until an answer was seen. */
  get aheadMillis(): number {
    return this.#offsetMillis;
  }

  /** How long ago an answer told the time. */
  get sinceObservedMillis(): number {
    return this.#observedAt === null ? Number.POSITIVE_INFINITY : this.clock.monotonic() - this.#observedAt;
  }

  /** A layer that listens to the `Date` of every answer. */
  listen(fetch: Fetch): Fetch {
    return async (call) => {
      const sentAt = this.clock.now();
      const answer = await fetch(call);
      const date = dateMillis(answer);
      if (date !== undefined) this.#observe(date, sentAt, this.clock.now());
      return answer;
    };
  }

  /** `Date` has whole seconds and was written somewhere between the two moments; within that, nothing is to correct. */
  #observe(date: number, sentAt: number, receivedAt: number): void {
    this.#observedAt = this.clock.monotonic();
    const earliest = sentAt + this.#offsetMillis - 1000;
    const latest = receivedAt + this.#offsetMillis;
    if (date < earliest || date > latest) this.#offsetMillis = date - receivedAt;
  }
}
