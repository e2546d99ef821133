import { expect, test } from 'vitest';
import { decimalOfCents } from '../../src/domain/money.js';
import fc from '../support/property.js';

test.each([
  [0, '0.00'],
  [7, '0.07'],
  [-5, '-0.05'],
  [100, '1.00'],
  [-123_456, '-1234.56'],
  [9_007_199_254_740_991, '90071992547409.91'],
  [900_719_925_474_099_312n, '9007199254740993.12'],
])('%d cents are %s units', (cents, text) => {
  expect(decimalOfCents(cents)).toBe(text);
});

test('an amount as a decimal has its digits, and two of them after the point', () => {
  fc.assert(
    fc.property(fc.bigInt(), (cents) => {
      const text = decimalOfCents(cents);
      expect(text).toMatch(/^-?(?:0|[1-9]\d*)\.\d\d$/);
      expect(BigInt(text.replace('.', ''))).toBe(cents);
    }),
  );
});

test('a number that is not whole cents is refused', () => {
  expect(() => decimalOfCents(1.5)).toThrow(RangeError);
});
