import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planFor } from './plan.js';
import { Laboratory } from './run-seed.js';
import { storyOf } from './shrink.js';

/** The short form for every push; `npm run simulate -- --seeds N` runs as many as one has time for. */
const seeds = 150;
const budgetMillis = 40_000;

describe('the real daemon in seeded worlds', () => {
  let laboratory: Laboratory;
  beforeAll(() => {
    laboratory = new Laboratory();
  });
  afterAll(() => laboratory.close());

  test('every invariant holds, whatever the weather', { timeout: 120_000 }, async () => {
    const begun = performance.now();
    let run = 0;
    for (let seed = 1; seed <= seeds && performance.now() - begun < budgetMillis; seed += 1) {
      const { violation } = await laboratory.seed(seed);
      expect(violation, `npm run simulate -- --seed ${seed}: ${storyOf(planFor(seed))}`).toBeNull();
      run += 1;
    }
    expect(run).toBeGreaterThan(10);
  });

  test('a seed takes the same course each time, and another seed another one', async () => {
    const traces: number[] = [];
    for (const seed of [3, 3, 7, 7]) traces.push((await laboratory.seed(seed)).trace);
    expect(traces[0]).toBe(traces[1]);
    expect(traces[2]).toBe(traces[3]);
    expect(traces[0]).not.toBe(traces[2]);
  });

  test('time and chance from the air throw while a world runs, and work again afterwards', async () => {
    await laboratory.seed(1);
    expect(Date.now()).toBeGreaterThan(0);
    expect(Math.random()).toBeLessThan(1);
  });
});
