import { type Random, seededRandom } from '../../src/runtime/random.js';

/**
 * The seed of every random value in a test run. Fixed by default, so that a run repeats; the search for flaky
 * tests sets another one for each run.
 */
export const testSeed = Number(process.env.ROSTERD_TEST_SEED ?? '1');

let streams = 0;

/**
 * Begins the streams of a test file. Files that share a process share this module too, so without this a stream would
 * depend on the files that ran before.
 */
export function beginStreams(): void {
  streams = 0;
}

/**
 * Returns a new random stream at each call. The third call of a test file returns the same stream in every run.
 */
export function testRandom(): Random {
  streams += 1;
  return seededRandom(Math.imul(testSeed, 0x9e3779b1) ^ streams);
}
