import type { Closable } from '../../runtime/lifecycle.js';
import type { Services } from '../services.js';
import { churn } from './control/churn.js';

/**
 * A little life for a demonstration: something random happens every so often. The pause before each change is
 * anywhere between half and one and a half of what was asked for. Closing waits for the change under way.
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
