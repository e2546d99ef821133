import type { Closable } from '../runtime/lifecycle.js';
import type { Services } from './services.js';

/** Pause after a turn that failed: the same error would occur in the next one. */
const failedMillis = 5_000;

/**
 * Runs `turn` again and again until `close`, which waits for the one in progress. A turn that fails, on a full disk for
 * example, is logged, and the next one comes after a pause.
 */
export function startTurns(services: Services, turn: (closing: AbortSignal) => Promise<void>): Closable {
  const { clock, logger } = services;
  const closing = new AbortController();
  const running = (async () => {
    while (!closing.signal.aborted) {
      try {
        await turn(closing.signal);
      } catch (error) {
        logger.error({ component: 'platform', error }, 'background work failed');
        await clock.wait(failedMillis, closing.signal);
      }
    }
  })();
  return {
    close: async () => {
      closing.abort();
      await running;
    },
  };
}
