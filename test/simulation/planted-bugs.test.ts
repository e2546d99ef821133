import { expect, test } from 'vitest';
import { withered } from '../support/planting.js';
import { plantedBugs } from './planted-bugs.js';
import { plantedPostgresBugs } from './postgres/planted-bugs.js';

test.each([
  ['files', plantedBugs],
  ['a server', plantedPostgresBugs],
])('every bug planted for worlds on %s still fits the source it is for', (_, bugs) => {
  expect(new Set(bugs.map(({ name }) => name)).size).toBe(bugs.length);
  expect(withered(bugs)).toEqual([]);
});
