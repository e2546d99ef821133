import type { Closable } from '../../runtime/lifecycle.js';
import type { Services } from '../services.js';
import { churn } from './control/churn.js';

/**
 * Makes random changes at random intervals, for a demonstration. Each pause is between 0.5 and 1.5 times the given
 * pause. `close` waits for a change in progress.
 */
export function startActivity(services: Services, pauseMillis: number): Closable {
  const stopping = new AbortController();
  const living = live(services, pauseMillis, stopping.signal);
  return {
    close: async () => {
      stopping.abort();
      await living;
    },
  };
}

async function live(services: Services, pauseMillis: number, signal: AbortSignal): Promise<void> {
  const { clock, random, state } = services;
  while (!signal.aborted) {
    await clock.wait(pauseMillis * (0.5 + random.fraction()), signal);
    if (!signal.aborted) state.transaction(() => churn(services, 1, null, clock.now()))();
  }
}
