import type { Clock } from './clock.js';
import { Interrupter } from './interruption.js';
import type { Closable } from './lifecycle.js';

export interface WakeableLoop extends Closable {
  /** Ends the wait before the next turn. During a turn, the next one follows without a wait. */
  look(): void;
}

/**
 * Repeats `turn` until it is closed. A turn returns how long to wait for the next one, and must not throw. `close` aborts
 * `stopping` and resolves when the last turn has ended.
 */
export function startWakeableLoop(
  clock: Pick<Clock, 'wait'>,
  stopping: AbortController,
  turn: () => Promise<number>,
): WakeableLoop {
  let asleep = new Interrupter();
  let called = false;
  const run = async () => {
    while (!stopping.signal.aborted) {
      called = false;
      const waitMillis = await turn();
      if (called || stopping.signal.aborted) continue;
      asleep = new Interrupter();
      await clock.wait(waitMillis, asleep);
    }
  };
  const running = run();
  return {
    look: () => {
      called = true;
      asleep.abort();
    },
    close: async () => {
      stopping.abort();
      asleep.abort();
      await running;
    },
  };
}
