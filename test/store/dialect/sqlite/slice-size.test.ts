import { expect, test } from 'vitest';
import { SliceSize } from '../../../../src/store/dialect/sqlite/slice-size.js';

test.each([
  ['commits that take as long as they should', [20, 20], 5_000],
  ['quick commits never exceed the most', [1, 1, 0], 5_000],
  ['a slow commit', [40], 2_500],
  ['a commit slower by far quarters the number at most', [10_000], 1_250],
  ['many of those end at the least', Array(20).fill(10_000), 100],
  ['quick commits after slow ones double it each time', [40, 40, 5], 2_500],
])('slice size: %s', (_, took, rows) => {
  const size = new SliceSize(5_000);
  for (const millis of took) size.took(millis);
  expect(size.rows).toBe(rows);
});
