import type { Clock } from '../../../src/runtime/clock.js';

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock that moves only when a test says so. Sleepers wake in time order, and what they start settles in between. */
export class VirtualClock implements Clock {
  #now: number;
  #wallOffset = 0;
  #sleepers: Sleeper[] = [];

  constructor(now = Date.parse('2026-11-01T00:00:00Z')) {
    this.#now = now;
  }

  now(): number {
    return this.#now + this.#wallOffset;
  }

  monotonic(): number {
    return this.#now;
  }

  get sleeping(): number {
    return this.#sleepers.length;
  }

  wait(millis: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true || millis <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper: Sleeper = {
        at: this.#now + millis,
        wake: () => {
          this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
          signal?.removeEventListener('abort', sleeper.wake);
          resolve();
        },
      };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', sleeper.wake, { once: true });
    });
  }

  /** Sets back the wall clock only, as an operator or a time server would. */
  setBack(millis: number): void {
    this.#wallOffset -= millis;
  }

  /** Moves time at once and wakes no sleeper: for ticks that do not wait. */
  jump(millis: number): void {
    this.#now += millis;
  }

  /** Moves time timer by timer. After each, `settle` waits until the work that it started is done. */
  async advance(millis: number, settle: () => Promise<void> = settled): Promise<void> {
    const until = this.#now + millis;
    await settle();
    for (;;) {
      const due = this.#sleepers.filter((one) => one.at <= until).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#now = Math.max(this.#now, due.at);
      due.wake();
      await settle();
    }
    this.#now = until;
    await settle();
  }
}

/** Waits until every promise that needs neither a timer nor a socket has settled. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
