import type { Clock } from '../../src/runtime/clock.js';

interface Wait {
  readonly due: number;
  readonly end: () => void;
}

/** A clock that stands still until it is advanced; a day of waiting takes as long as the work in it. */
export class VirtualClock implements Clock {
  readonly #waits = new Set<Wait>();
  #passed = 0;

  constructor(readonly startsAt: number) {}

  now(): number {
    return this.startsAt + this.#passed;
  }

  monotonic(): number {
    return this.#passed;
  }

  wait(millis: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true || !(millis > 0)) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        signal?.removeEventListener('abort', end);
        this.#waits.delete(wait);
        resolve();
      };
      const wait: Wait = { due: this.#passed + millis, end };
      this.#waits.add(wait);
      signal?.addEventListener('abort', end, { once: true });
    });
  }

  /** Advances by `millis` timer by timer; after each, `settle` waits until the woken work is done. */
  async pass(millis: number, settle: () => Promise<void>): Promise<void> {
    const until = this.#passed + millis;
    for (;;) {
      const next = Math.min(...[...this.#waits].map(({ due }) => due));
      if (!(next <= until)) break;
      this.#passed = Math.max(this.#passed, next);
      for (const wait of [...this.#waits]) if (wait.due <= this.#passed) wait.end();
      await settle();
    }
    this.#passed = until;
    await settle();
  }
}
