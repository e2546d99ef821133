import type { Clock } from '../../src/runtime/clock.js';

export interface ManualClock extends Clock {
  advance(millis: number): void;
  /** Number of pending waits. An idle system has none. */
  readonly waiting: number;
}

/** Returns a clock that stands still until it is moved. Moving it past the end of a wait ends the wait. */
export function manualClock(start: number): ManualClock {
  let now = start;
  const waits = new Set<{ readonly until: number; readonly end: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    get waiting() {
      return waits.size;
    },
    advance(millis) {
      now += millis;
      for (const wait of [...waits]) if (wait.until <= now) wait.end();
    },
    wait: (millis, signal) =>
      new Promise((resolve) => {
        if (millis <= 0 || signal?.aborted === true) return resolve();
        const wait = {
          until: now + millis,
          end: () => {
            waits.delete(wait);
            signal?.removeEventListener('abort', wait.end);
            resolve();
          },
        };
        waits.add(wait);
        signal?.addEventListener('abort', wait.end, { once: true });
      }),
  };
}
