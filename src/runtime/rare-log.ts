import type { Clock } from './clock.js';
import { Interrupter } from './interruption.js';

/**
 * Counts events that may occur thousands of times a second and reports the counts at most once per interval: the first
 * event immediately, the following ones together at the end of the interval.
 */
export class RareLog {
  #counts = new Map<string, number>();
  #waiting = false;
  readonly #closing = new Interrupter();

  constructor(
    private readonly clock: Clock,
    private readonly intervalMillis: number,
    private readonly write: (counts: Readonly<Record<string, number>>) => void,
  ) {}

  add(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
    if (!this.#waiting) void this.#writeAndWait();
  }

  /** Reports the remaining counts. */
  close(): void {
    this.#closing.abort();
  }

  /** Ends after an interval without an event. */
  async #writeAndWait(): Promise<void> {
    this.#waiting = true;
    while (this.#counts.size > 0) {
      const counts = Object.fromEntries(this.#counts);
      this.#counts.clear();
      this.write(counts);
      await this.clock.wait(this.intervalMillis, this.#closing);
    }
    this.#waiting = false;
  }
}
