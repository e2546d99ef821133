import { setImmediate } from 'node:timers/promises';
import type { Awaitable } from '../store/erasures.js';

/** Each step removes rows until none is old enough; others get their turn in between. */
export async function inSteps(step: () => Awaitable<number>): Promise<number> {
  let gone = 0;
  for (let more = await step(); more > 0; more = await step()) {
    gone += more;
    await setImmediate();
  }
  return gone;
}
