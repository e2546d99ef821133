import type { ListingPlan } from './listing-plan.js';

interface Waiting {
  readonly plan: ListingPlan;
  readonly list: () => Promise<void>;
  readonly ended: () => void;
}

/**
 * Runs one listing at a time, because all of them share the platform's limit of an address. Those that an event asked for
 * go before the others, which may be the first listings of a thousand sources. At most every other listing does, so
 * that events that never stop delay the others only twofold.
 */
export class ListingQueue {
  readonly #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;
  #hasOvertaken = false;

  /** Resolves when the listing has ended. `list` never rejects. */
  add(plan: ListingPlan, list: () => Promise<void>): Promise<void> {
    return new Promise((ended) => {
      this.#waiting.push({ plan, list, ended });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when no listing runs or waits. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    // The caller may add more listings before the first begins.
    await Promise.resolve();
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      await next.list();
      next.ended();
    }
    this.#running = null;
  }

  #next(): Waiting | undefined {
    const urgent = this.#hasOvertaken ? 0 : this.#waiting.findIndex(({ plan }) => plan.isTouched);
    const index = Math.max(0, urgent);
    this.#hasOvertaken = index > 0;
    return this.#waiting.splice(index, 1)[0];
  }
}
