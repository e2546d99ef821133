import { expect, test } from 'vitest';
import { CallBudget } from '../../src/verify/call-budget.js';

test('call budget: the comparison after a repair has as many calls as the first, and its error names that number', () => {
  const budget = new CallBudget(2);
  const take = (times: number) => {
    for (let time = 0; time < times; time += 1) budget.take();
  };
  take(2);
  const mistake = 'the verification has used the 2 calls it may make';
  expect(() => budget.take()).toThrow(mistake);
  budget.lift();
  take(50);
  budget.renew();
  take(2);
  expect(budget.ended()).toMatchObject({ code: 'stopped', message: mistake });
  expect(budget.spent).toBe(54);
});
