import { expect, test } from 'vitest';
import { withered } from '../support/planting.js';
import { plantedBugs } from './planted-bugs.js';

test('every planted bug still fits the source it is for', () => {
  expect(new Set(plantedBugs.map(({ name }) => name)).size).toBe(plantedBugs.length);
  expect(withered(plantedBugs)).toEqual([]);
});
