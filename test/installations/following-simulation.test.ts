import { expect, test } from 'vitest';
import { testSeed } from '../support/chance.js';
import { withered } from '../support/planting.js';
import { livedWrongly } from './following-life.js';
import { plantedFollowingBugs } from './planted-bugs.js';

const seeds = Array.from({ length: 40 }, (_, index) => testSeed * 1_000 + index);

test.each(seeds)(
  'seed %i: in the end sources equal installations and revoked companies are erased',
  async (seed) => {
    expect(await livedWrongly(seed)).toEqual([]);
  },
);

test('the source still contains the line of every bug planted in following', () => {
  expect(new Set(plantedFollowingBugs.map(({ name }) => name)).size).toBe(plantedFollowingBugs.length);
  expect(withered(plantedFollowingBugs)).toEqual([]);
});
