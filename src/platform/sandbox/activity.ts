import type { Closable } from '../../runtime/lifecycle.js';
import type { Services } from '../services.js';
import { startTurns } from '../turns.js';
import { churn } from './control/churn.js';

/**
 * Makes random changes at random intervals, for a demonstration. Each pause is between 0.5 and 1.5 times the given
 * pause. `close` waits for a change in progress.
 */
export function startActivity(services: Services, pauseMillis: number): Closable {
  const { clock, random, state } = services;
  return startTurns(services, async (closing) => {
    await clock.wait(pauseMillis * (0.5 + random.fraction()), closing);
    if (!closing.aborted) state.transaction(() => churn(services, 1, null, clock.now()))();
  });
}
