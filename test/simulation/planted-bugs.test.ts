import { expect, test } from 'vitest';
import { withered } from '../support/planting.js';
import { plantedBugs } from './planted-bugs.js';
import { plantedPostgresBugs } from './postgres/planted-bugs.js';

test.each([
  ['files', plantedBugs],
  ['a server', plantedPostgresBugs],
])('the source still contains the line of every bug planted for simulations on %s', (_, bugs) => {
  expect(new Set(bugs.map(({ name }) => name)).size).toBe(bugs.length);
  expect(withered(bugs)).toEqual([]);
});
