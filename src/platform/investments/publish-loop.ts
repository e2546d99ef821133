import type { Closable } from '../../runtime/lifecycle.js';
import type { Services } from '../services.js';
import { publishDue } from './publisher.js';

/**
 * Starts a loop that publishes due changes, because webhooks must not wait for a read. With immediate publishing
 * no change is ever queued, and there is no loop.
 */
export function startPublishing(services: Services): Closable {
  const delay = services.options.publishDelayMillis;
  if (delay === 0) return { close: () => Promise.resolve() };
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      publishDue(services, services.clock.now());
      // A change queued from now on is due after one delay. Polling every half delay bounds the lateness.
      await services.clock.wait(Math.max(delay / 2, 1), stopping.signal);
    }
  })();
  return {
    close: async () => {
      stopping.abort();
      await running;
    },
  };
}
