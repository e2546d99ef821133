import type { Effect } from './tick-state.js';

/** The longest legitimate path from one page to the next has six steps: two expired positions and a new listing. */
const stepsWithoutPageMax = 12;

/**
 * Ends a tick that loops. Only a bug in `decide`, or a mirror that loses commits, can cause that.
 *
 * Each step moves the committed position or requests another one, so the same effect in the same phase never
 * repeats. Each step is compared with one mark, which moves to the newest step after 1, 2, 4, 8 … steps (Brent's
 * algorithm): a cycle of any length is found within three turns, and only one step is stored. A cycle that increments
 * a counter looks new each time; it is detected because it writes no page.
 */
export class StepGuard {
  #mark = '';
  #sinceMark = 0;
  #markLasts = 1;
  #sincePage = 0;

  /** Throws when this step repeats an earlier one, or after too many steps without a page. */
  step(effect: Effect, phase: unknown): void {
    const step = JSON.stringify([effect, phase]);
    if (step === this.#mark) throw new Error(`a tick repeated a step: ${effect.kind}`);
    const page = effect.kind === 'store_listing_page' || effect.kind === 'apply_page';
    this.#sincePage = page ? 0 : this.#sincePage + 1;
    if (this.#sincePage > stepsWithoutPageMax)
      throw new Error(`a tick took ${this.#sincePage} steps without writing a page: ${effect.kind}`);
    this.#sinceMark += 1;
    if (this.#sinceMark < this.#markLasts) return;
    this.#mark = step;
    this.#sinceMark = 0;
    this.#markLasts *= 2;
  }
}
