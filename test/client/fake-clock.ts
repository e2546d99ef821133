import type { Clock } from '../../src/runtime/clock.js';

/** A clock whose waits return at once and advance it, so hours of backoff take one turn of the event loop. */
export class FakeClock implements Clock {
  readonly waits: number[] = [];
  #now: number;
  #monotonic = 0;

  constructor(start = Date.parse('2026-11-20T12:00:00Z')) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  async wait(millis: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return;
    this.waits.push(millis);
    this.advance(millis);
    await new Promise((resolve) => setImmediate(resolve));
  }

  advance(millis: number): void {
    this.#now += millis;
    this.#monotonic += millis;
  }

  /** Sets the wall clock; the monotonic clock does not change. */
  jump(millis: number): void {
    this.#now += millis;
  }
}
