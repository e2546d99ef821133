import { setImmediate } from 'node:timers/promises';
import type { Awaitable } from '../store/erasures.js';

/** Repeats a deleting step until it deletes nothing, yielding to the event loop in between. Returns the total. */
export async function inSteps(step: () => Awaitable<number>): Promise<number> {
  let deleted = 0;
  for (let more = await step(); more > 0; more = await step()) {
    deleted += more;
    await setImmediate();
  }
  return deleted;
}
