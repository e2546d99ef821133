import { Fault } from '../domain/fault.js';

/**
 * How many requests a verification may send. It stands in front of the wire, so that what is tried again, a
 * refreshed token and the ticks count as well: what it says is what the platform saw.
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
    if (this.#spent >= this.#limit) {
      throw new Fault('stopped', `the ${this.#limit} calls it was allowed are spent`, {
        hint: 'allow more: rosterd verify --calls N',
      });
    }
    this.#spent += 1;
  }

  /** A repair takes what a listing takes; the comparison after it may spend as much as the first one. */
  lift(): void {
    this.#limit = Number.POSITIVE_INFINITY;
  }

  renew(): void {
    this.#limit = this.#spent + this.allowed;
  }
}
