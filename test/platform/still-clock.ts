import type { Clock } from '../../src/runtime/clock.js';

/** Time that passes only when a test says so; a wait on it ends by its signal alone. */
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
