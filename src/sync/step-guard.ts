import type { Effect } from './tick-state.js';

/** The longest honest way from one page to the next has six steps: two positions that are gone, and a new listing. */
const stepsWithoutPageMax = 12;

/**
 * Ends a tick that goes in circles, which only a defect of `decide`, or of a mirror that forgets, can make it do.
 *
 * Each step moves the committed position or asks for another one, so the same effect in the same standing never
 * comes twice. A step is compared with one mark, which moves to the newest step after 1, 2, 4, 8 … of them (Brent):
 * a circle of any length is found within three turns of it, and one step is all there is to remember. A circle that
 * counts upwards as it turns looks new each time; what gives it away is that it writes no page.
 */
export class StepGuard {
  #mark = '';
  #sinceMark = 0;
  #markLasts = 1;
  #sincePage = 0;

  /** Throws when this step was taken before, or when too many led nowhere. */
  step(effect: Effect, standing: unknown): void {
    const step = JSON.stringify([effect, standing]);
    if (step === this.#mark) throw new Error(`a tick came back to a step it had taken: ${effect.kind}`);
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
