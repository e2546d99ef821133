import type { Closable } from '../../runtime/lifecycle.js';
import type { Services } from '../services.js';
import { startTurns } from '../turns.js';
import { nextExpiry } from './model.js';
import { expireDue } from './transitions.js';

/**
 * Starts a loop that expires sessions on time, because webhooks must not wait for a read. It sleeps until the next
 * expiry, or until a session is created if none is open. Each turn expires every session that is due.
 */
export function startExpiry(services: Services): Closable {
  const { clock, state, events } = services;
  let nap = new AbortController();
  events.subscribe((event) => {
    if (event.name === 'join_session.created') nap.abort();
  });
  const turns = startTurns(services, async () => {
    nap = new AbortController();
    expireDue(services, clock.now());
    const next = nextExpiry(state);
    if (next === null) await aborted(nap.signal);
    else await clock.wait(Math.max(next - clock.now(), 1), nap.signal);
  });
  return {
    close: () => {
      const closed = turns.close();
      nap.abort();
      return closed;
    },
  };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
