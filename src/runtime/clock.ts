import type { Interruption } from './interruption.js';

/** Time as an argument. `now` is the wall, `monotonic` never goes back; waits end early when the signal fires. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds from an arbitrary start; for measuring and for intervals. */
  monotonic(): number;
  /** Resolves after `millis`, or at once when `signal` aborts. Never rejects. */
  wait(millis: number, signal?: Interruption): Promise<void>;
}

/** Node clamps longer timers to 1 ms; a wait for next week is a chain of shorter ones. */
const timerMillisMax = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Not `timers/promises`: it answers an abort with an error nobody reads, whose making takes five times as long as all
  // of this, and every tick ends three waits.
  wait: (millis, signal) =>
    new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const waitFor = (left: number) => {
        if (left <= 0 || signal?.aborted === true) return end();
        timer = setTimeout(waitFor, Math.min(left, timerMillisMax), left - timerMillisMax);
      };
      signal?.addEventListener('abort', end, { once: true });
      waitFor(millis);
    }),
};
