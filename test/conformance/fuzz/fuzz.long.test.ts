import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningPlatform, startPlatform } from '../running-platform.js';
import { fuzz, roundSize } from './fuzz.js';

let world: RunningPlatform;
beforeAll(async () => {
  world = await startPlatform({ limits: false, records: 24 });
});
afterAll(() => world.close());

/** Enough to call every operation a dozen times; `npm run fuzz:platform` runs more. */
const rounds = 100;

test('the platform survives arbitrary requests without a server fault, an undeclared response or leaked internals', async () => {
  const report = await fuzz(world, { seed: 1, rounds: Array.from({ length: rounds }, (_, round) => round) });
  expect(report.requests).toBe(rounds * roundSize);
  const counts = [...report.asked];
  expect(counts.filter(([, { asked }]) => asked < 10).map(([id]) => id)).toEqual([]);
  // If every request is refused, the run proves little. Most operations must grant some requests.
  const never = counts.filter(([, { granted }]) => granted === 0).map(([id]) => id);
  expect(never.length).toBeLessThan(counts.length / 3);
  expect(report.kinds.size).toBeGreaterThan(15);
});
