import { expect, test } from 'vitest';
import { withered } from '../support/planting.js';
import { fleet, network, plantedBugs } from './planted-bugs.js';
import { scenarios } from './scenarios/index.js';

test('every torture scenario has a planted bug, and the source still contains the line of each', () => {
  const names = [...scenarios.sqlite, ...scenarios.postgres].map(({ name }) => name);
  const wanted = [...new Set([...names, fleet, network])].sort();
  expect([...new Set(plantedBugs.map(({ scenario }) => scenario))].sort()).toEqual(wanted);
  expect(withered(plantedBugs)).toEqual([]);
});
