import { expect, test } from 'vitest';
import { isSameSecret } from '../../src/runtime/same-secret.js';

test.each([
  ['secret', 'secret', true],
  ['', '', true],
  ['sécret', 'sécret', true],
  ['secret', 'secreT', false],
  ['secret', 'secret ', false],
  ['', 'secret', false],
  ['\ud800', '\ud801 ', false],
])('isSameSecret compares %j and %j: %s', (given, expected, same) => {
  expect(isSameSecret(given, expected)).toBe(same);
});
