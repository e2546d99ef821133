import type { Clock } from '../../src/runtime/clock.js';

/** Waiting takes no time and moves the clock, so that hours of backoff are one turn of the event loop. */
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

  /** Somebody sets the wall clock; elapsed time knows nothing of it. */
  jump(millis: number): void {
    this.#now += millis;
  }
}
