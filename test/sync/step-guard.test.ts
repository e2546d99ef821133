import { expect, test } from 'vitest';
import { StepGuard } from '../../src/sync/step-guard.js';
import type { Effect } from '../../src/sync/tick-state.js';
import fc from '../support/property.js';

const store: Effect = { kind: 'store_listing_page' };

test('step guard: a cycle of any length, after any start, ends within a few turns', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 200 }), (before, length) => {
      const guard = new StepGuard();
      let steps = 0;
      expect(() => {
        for (; steps < 10_000; steps += 1)
          guard.step(store, { pages: steps < before ? -1 - steps : (steps - before) % length });
      }).toThrow('repeated a step');
      expect(steps).toBeLessThanOrEqual(3 * (before + length) + 3);
    }),
  );
});

test('step guard: the same effect in another phase is not a cycle', () => {
  const guard = new StepGuard();
  expect(() => {
    for (let pages = 0; pages < 10_000; pages += 1) guard.step(store, { pages });
  }).not.toThrow();
});

test('step guard: a cycle that increments a counter ends too, because it writes no page', () => {
  const guard = new StepGuard();
  let steps = 0;
  expect(() => {
    for (; steps < 10_000; steps += 1)
      guard.step({ kind: 'fetch', position: { kind: 'start' } }, { restarts: steps });
  }).toThrow('without writing a page');
  expect(steps).toBe(12);
});
