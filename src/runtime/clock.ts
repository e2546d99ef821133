import { setTimeout as sleep } from 'node:timers/promises';

/** Time as an argument. `now` is the wall, `monotonic` never goes back; waits end early when the signal fires. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds from an arbitrary start; for measuring and for intervals. */
  monotonic(): number;
  /** Resolves after `millis`, or at once when `signal` aborts. Never rejects. */
  wait(millis: number, signal?: AbortSignal): Promise<void>;
}

/** Node clamps longer timers to 1 ms; a wait for next week is a chain of shorter ones. */
const timerMillisMax = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async wait(millis, signal) {
    for (let left = millis; left > 0 && signal?.aborted !== true; left -= timerMillisMax) {
      // The only rejection is the abort, which is what the caller asked for.
      await sleep(Math.min(left, timerMillisMax), undefined, signal === undefined ? {} : { signal }).catch(
        () => {},
      );
    }
  },
};
