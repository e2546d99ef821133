import { type Random, seededRandom } from '../../src/runtime/random.js';

/**
 * The seed of everything random in a test run. It is fixed by default, so that a run repeats; the command that hunts
 * for flickering tests sets another one for each run.
 */
export const testSeed = Number(process.env.ROSTERD_TEST_SEED ?? '1');

let streams = 0;

/** Returns a new random stream at each call. The third call of a test file returns the same stream in every run. */
export function testRandom(): Random {
  streams += 1;
  return seededRandom(Math.imul(testSeed, 0x9e3779b1) ^ streams);
}
