import type { Closable } from '../../runtime/lifecycle.js';
import type { Services } from '../services.js';
import { expireDue } from './transitions.js';

/** How late the end of a session may be announced when nobody asks. Sessions last an hour at least. */
const pauseMillis = 60_000;

export function startExpiry(services: Services): Closable {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      expireDue(services, services.clock.now());
      await services.clock.wait(pauseMillis, stopping.signal);
    }
  })();
  return {
    close: async () => {
      stopping.abort();
      await running;
    },
  };
}
