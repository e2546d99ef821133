import { expect, test } from 'vitest';
import { money } from '../../src/console/parts/format.js';
import fc from '../support/property.js';

test.each([
  [9_007_199_254_740_991, '$90,071,992,547,409.91'],
  [-8_999_999_999_999_999, '-$89,999,999,999,999.99'],
  [9_007_199_254_740_993n, '$90,071,992,547,409.93'],
  [9_007_199_254_740_992, '≈ $90,071,992,547,409.92'],
  [2 ** 62, '≈ $46,116,860,184,273,879.04'],
  [2 ** 63, '≥ $92,233,720,368,547,758.07'],
  [2 ** 70, '≥ $92,233,720,368,547,758.07'],
  [-(2 ** 63), '≤ -$92,233,720,368,547,758.07'],
  [0, '$0.00'],
  [-1, '-$0.01'],
  [1_234.5, '$12.35'],
])('%d cents are shown as %s', (cents, text) => {
  expect(money(cents, 'usd')).toBe(text);
});

test('an amount is shown with each of its digits, up to the largest of a record', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (cents) => {
      expect(BigInt(money(cents, null).replaceAll(/[,.]/g, ''))).toBe(BigInt(cents));
    }),
  );
});
