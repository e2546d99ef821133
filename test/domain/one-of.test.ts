import { expect, test } from 'vitest';
import { fewOf, oneOf } from '../../src/domain/one-of.js';

const names = (count: number) => Array.from({ length: count }, (_, at) => `s${at}`);

test('a message names at most twenty of many sources, and counts the others', () => {
  expect(fewOf(names(20))).toBe(names(20).join(', '));
  expect(fewOf(names(21))).toBe(`${names(20).join(', ')} and 1 more`);
  expect(oneOf(names(10_000), 'none')).toBe(`one of: ${names(20).join(', ')} and 9980 more`);
  expect(oneOf([], 'rosterd sync')).toBe('rosterd sync');
});
