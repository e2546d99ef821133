import type { Closable } from '../../runtime/lifecycle.js';
import type { Services } from '../services.js';
import { publishDue } from './publisher.js';

/**
 * Publishes on time when nobody reads: webhooks must not wait for a reader. Where publishing is immediate nothing
 * ever waits, and there is no loop.
 */
export function startPublishing(services: Services): Closable {
  const delay = services.options.publishDelayMillis;
  if (delay === 0) return { close: () => Promise.resolve() };
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      publishDue(services, services.clock.now());
      // Whatever is queued from now on is due after a whole delay; half of one bounds how late it can be.
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
