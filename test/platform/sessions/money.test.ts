import { expect, test } from 'vitest';
import { written } from '../../../src/platform/sessions/money.js';

test.each([
  [250_000, 'usd', '$2,500'],
  [-250_005, 'eur', '-€2,500.05'],
  // A division would round these: a number of 16 digits has no hundredths.
  [7_036_874_417_766_401, 'usd', '$70,368,744,177,664.01'],
  [Number.MAX_SAFE_INTEGER, 'usd', '$90,071,992,547,409.91'],
  [9_007_199_254_740_900, 'usd', '$90,071,992,547,409'],
])('the pages of the platform write %i cents %s exactly', (cents, currency, text) => {
  expect(written(cents, currency)).toBe(text);
});
