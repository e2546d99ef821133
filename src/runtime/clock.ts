import type { Interruption } from './interruption.js';

/** Time as a dependency. `now` is the wall clock, `monotonic` never goes back, and waits end early on a signal. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds from an arbitrary start; for measurements and intervals. */
  monotonic(): number;
  /** Resolves after `millis`, or immediately when `signal` aborts. Never rejects. */
  wait(millis: number, signal?: Interruption): Promise<void>;
}

/** Node clamps longer timers to 1 ms, so a longer wait is a chain of shorter timers. */
const timerMillisMax = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Not `timers/promises`: it rejects with an error on each abort, and creating that error is slow. Every tick aborts
  // three waits.
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

/** Returns the kernel's CLOCK_MONOTONIC in microseconds, which is the same for every process on the machine. */
export function kernelMonotonicMicros(): bigint {
  return process.hrtime.bigint() / 1_000n;
}
