import type { Clock } from '../../runtime/clock.js';
import { Interrupter } from '../../runtime/interruption.js';

export interface MovableClock extends Clock {
  /** Offset from the underlying clock. */
  readonly offsetMillis: number;
  advance(millis: number): void;
  /**
   * Registers a listener called after every move. Returns a function that removes it. If it throws, such as on a full disk, the
   * move is undone, and listeners that were registered later are not called.
   */
  onMove(listener: () => void): () => void;
}

/**
 * A clock that can be set. Moving it past the end of a wait ends the wait at once, so 72 hours of retries fit into a
 * test. Moving it back does not move `monotonic` back.
 */
export function movableClock(base: Clock, offsetMillis = 0): MovableClock {
  let offset = offsetMillis;
  let skipped = 0;
  const listeners = new Set<() => void>();
  const move = (by: number) => {
    const before = { offset, skipped };
    offset += by;
    skipped += Math.max(by, 0);
    try {
      for (const listener of [...listeners]) listener();
    } catch (error) {
      ({ offset, skipped } = before);
      throw error;
    }
  };
  const clock: MovableClock = {
    get offsetMillis() {
      return offset;
    },
    now: () => base.now() + offset,
    monotonic: () => base.monotonic() + skipped,
    advance: move,
    onMove(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async wait(millis, signal) {
      const end = clock.monotonic() + millis;
      for (let left = millis; left > 0 && signal?.aborted !== true; left = end - clock.monotonic()) {
        const moved = new Interrupter();
        const end = () => moved.abort();
        const stop = clock.onMove(end);
        signal?.addEventListener('abort', end, { once: true });
        await base.wait(left, moved);
        signal?.removeEventListener('abort', end);
        stop();
      }
    },
  };
  return clock;
}
