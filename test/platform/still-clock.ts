import type { Clock } from '../../src/runtime/clock.js';

/** Returns a clock that never advances. A wait ends only by its signal. */
export function stillClock(now: number): Clock {
  return {
    now: () => now,
    monotonic: () => 0,
    wait: (millis, signal) =>
      new Promise((resolve) => {
        if (millis <= 0 || signal?.aborted === true) resolve();
        else signal?.addEventListener('abort', () => resolve(), { once: true });
      }),
  };
}
