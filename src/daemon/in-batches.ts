import { setImmediate } from 'node:timers/promises';
import type { Awaitable } from '../store/erasures.js';

/** Repeats a deleting batch until it deletes nothing, yielding to the event loop in between. Returns the total. */
export async function inBatches(batch: () => Awaitable<number>): Promise<number> {
  let deleted = 0;
  for (let more = await batch(); more > 0; more = await batch()) {
    deleted += more;
    await setImmediate();
  }
  return deleted;
}

/** Repeats a step, each time from where the last one ended, until one returns null. Yields to the event loop in between. */
export async function inSteps(step: (after: number) => Awaitable<number | null>): Promise<void> {
  for (let next = await step(0); next !== null; next = await step(next)) await setImmediate();
}
