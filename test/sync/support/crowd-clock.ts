import type { Clock } from '../../../src/runtime/clock.js';
import type { Interruption } from '../../../src/runtime/interruption.js';
import { DueQueue } from '../../../src/sync/due-queue.js';
import { settled } from './virtual-clock.js';

interface Sleeper {
  readonly dueAt: number;
  readonly wake: () => void;
}

/** A virtual clock for tens of thousands of sleepers. */
export class CrowdClock implements Clock {
  #now = Date.parse('2026-11-01T00:00:00Z');
  readonly #sleepers = new DueQueue<Sleeper>();

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  wait(millis: number, signal?: Interruption): Promise<void> {
    if (signal?.aborted === true || millis <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      let isAsleep = millis !== Number.POSITIVE_INFINITY;
      const sleeper: Sleeper = {
        dueAt: this.#now + millis,
        wake: () => {
          isAsleep = false;
          signal?.removeEventListener('abort', end);
          resolve();
        },
      };
      const end = () => {
        if (isAsleep) this.#sleepers.remove(sleeper);
        resolve();
      };
      if (isAsleep) this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', end, { once: true });
    });
  }

  async advance(millis: number): Promise<void> {
    const until = this.#now + millis;
    await settled();
    for (;;) {
      const next = this.#sleepers.peek();
      if (next === undefined || next.dueAt > until) break;
      this.#sleepers.take();
      this.#now = Math.max(this.#now, next.dueAt);
      next.wake();
      await settled();
    }
    this.#now = until;
    await settled();
  }
}
