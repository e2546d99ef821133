import { type Clock, systemClock } from '../../src/runtime/clock.js';

/** The clock of the system, which a test can move forward. */
export class MovableClock implements Clock {
  #ahead = 0;
  readonly wait = systemClock.wait;
  now = () => systemClock.now() + this.#ahead;
  monotonic = () => systemClock.monotonic() + this.#ahead;
  move(millis: number): void {
    this.#ahead += millis;
  }
}
