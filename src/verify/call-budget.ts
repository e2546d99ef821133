import { Fault } from '../domain/fault.js';

/**
 * Limits the requests of a verification. It counts at the network layer, so retries, token refreshes and ticks count
 * too, and `spent` is what the platform saw.
 */
export class CallBudget {
  #spent = 0;
  #limit: number;

  constructor(readonly allowed: number) {
    this.#limit = allowed;
  }

  get spent(): number {
    return this.#spent;
  }

  take(): void {
    const ended = this.ended();
    if (ended !== null) throw ended;
    this.#spent += 1;
  }

  /** Returns why there are no more requests, or null. */
  ended(): Fault | null {
    if (this.#spent < this.#limit) return null;
    return new Fault('stopped', `the verification has used the ${this.allowed} calls it may make`, {
      hint: 'rosterd verify --calls N, with a larger N',
    });
  }

  /**
   * Removes the limit: a repair may take as many requests as a listing. `renew` then limits the comparison after it
   * like the first one.
   */
  lift(): void {
    this.#limit = Number.POSITIVE_INFINITY;
  }

  renew(): void {
    this.#limit = this.#spent + this.allowed;
  }
}
