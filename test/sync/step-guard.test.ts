import { expect, test } from 'vitest';
import { StepGuard } from '../../src/sync/step-guard.js';
import type { Effect } from '../../src/sync/tick-state.js';
import fc from '../support/property.js';

const store: Effect = { kind: 'store_listing_page' };

test('a circle of any length, after any way into it, ends within a few turns of it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 200 }), (before, length) => {
      const guard = new StepGuard();
      let steps = 0;
      expect(() => {
        for (; steps < 10_000; steps += 1)
          guard.step(store, { pages: steps < before ? -1 - steps : (steps - before) % length });
      }).toThrow('came back to a step');
      expect(steps).toBeLessThanOrEqual(3 * (before + length) + 3);
    }),
  );
});

test('the same effect in another standing is no circle', () => {
  const guard = new StepGuard();
  expect(() => {
    for (let pages = 0; pages < 10_000; pages += 1) guard.step(store, { pages });
  }).not.toThrow();
});

test('a circle that counts upwards ends too, because it writes no page', () => {
  const guard = new StepGuard();
  let steps = 0;
  expect(() => {
    for (; steps < 10_000; steps += 1)
      guard.step({ kind: 'fetch', position: { kind: 'start' } }, { restarts: steps });
  }).toThrow('without writing a page');
  expect(steps).toBe(12);
});
