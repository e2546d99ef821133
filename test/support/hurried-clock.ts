import { type Clock, systemClock } from '../../src/runtime/clock.js';

/**
 * The clock of the system, but waits of up to `millisMax` pass at once: pauses between attempts, or before a difference
 * is compared again. Timeouts, which are longer, take their time.
 */
export function hurriedClock(millisMax: number): Clock {
  let ahead = 0;
  return {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic() + ahead,
    wait: async (millis, signal) => {
      if (millis > millisMax) return await systemClock.wait(millis, signal);
      ahead += millis;
      await systemClock.wait(1, signal);
    },
  };
}
