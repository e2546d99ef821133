import { expect, test } from 'vitest';
import { withered } from '../support/planting.js';
import { fleet, network, plantedBugs } from './planted-bugs.js';
import { scenarios } from './scenarios/index.js';

test('every torture scenario has a planted bug, and the source still contains the line of each', () => {
  const wanted = [...scenarios.sqlite.map(({ name }) => name), fleet, network].sort();
  expect([...new Set(plantedBugs.map(({ scenario }) => scenario))].sort()).toEqual(wanted);
  expect(withered(plantedBugs)).toEqual([]);
});
