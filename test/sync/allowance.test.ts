import { expect, test } from 'vitest';
import { Allowance } from '../../src/sync/allowance.js';
import fc from '../support/property.js';

const hour = 3_600_000;
const rule = { perHour: 2_500, atOnce: 500 };

test('allowance: after a pause some requests are due at once, then one every even share of an hour', () => {
  const allowance = new Allowance();
  let at = 0;
  for (let n = 0; n < 500; n += 1) {
    expect(allowance.wait(at, rule)).toBe(0);
    allowance.spend(at, rule, 1);
  }
  expect(allowance.wait(at, rule)).toBeCloseTo(hour / 2_500, 3);
  at += hour / 2_500;
  expect(allowance.wait(at, rule)).toBeCloseTo(0, 3);
  // However long the pause was.
  at += 24 * hour;
  for (let n = 0; n < 500; n += 1) allowance.spend(at, rule, 1);
  expect(allowance.wait(at, rule)).toBeCloseTo(hour / 2_500, 3);
});

test('allowance: no hour sees more than the hourly rate and what may be made at once, whatever each tick takes', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 40 }), (costs) => {
      const allowance = new Allowance();
      const spent: { at: number; cost: number }[] = [];
      let at = 0;
      for (let n = 0; at < 3 * hour; n += 1) {
        const cost = costs[n % costs.length] ?? 1;
        at += allowance.wait(at, rule);
        allowance.spend(at, rule, cost);
        spent.push({ at, cost });
      }
      for (const from of [0, hour / 2, hour, 1.7 * hour]) {
        const inHour = spent.filter(({ at: one }) => one >= from && one < from + hour);
        const total = inHour.reduce((sum, { cost }) => sum + cost, 0);
        expect(total).toBeLessThanOrEqual(rule.perHour + rule.atOnce + 3);
      }
    }),
    { numRuns: 20 },
  );
});
