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

/** Repeats a step from where the last one ended until one finds nothing, yielding to the event loop in between. Returns where. */
export async function inSteps(
  from: number,
  step: (after: number) => Awaitable<number | null>,
): Promise<number> {
  let last = from;
  for (let next = await step(last); next !== null; next = await step(last)) {
    last = next;
    await setImmediate();
  }
  return last;
}
