import { expect } from 'vitest';
import type { Instant } from '../../../src/domain/instant.js';
import type { Cents } from '../../../src/domain/money.js';
import { largestChanges } from '../../../src/store/reads/dashboard/company.js';
import { test } from '../both-databases.js';
import { mirrorFixture, readingOf } from '../mirror-fixture.js';
import { acme, record } from '../samples.js';

const raised = (cents: number, second = 0) =>
  record('inv_1', {
    raised_cents: cents as Cents,
    observed_at: `2026-06-01T00:00:0${second}.000Z` as Instant,
  });

const largest = async ({ store }: Awaited<ReturnType<typeof mirrorFixture>>) => {
  const rows = await largestChanges(readingOf(store), acme.name, 'co_1', 10);
  return rows.map(({ before_cents, after_cents }) => [before_cents, after_cents]);
};

test('a change is once among the largest, also when its record was published again without a difference', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[raised(100)]]);
  await fixture.delta([raised(700)]);
  for (const second of [1, 2, 3]) await fixture.delta([raised(700, second)]);
  expect(await largest(fixture)).toEqual([[100, 700]]);
  await fixture.delta([raised(900, 4)]);
  expect(await largest(fixture)).toEqual([
    [100, 700],
    [700, 900],
  ]);
});

test('the largest changes have the amounts just before them, also when commits have the same time', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[raised(100)]]);
  // A clock that was ahead and was set back: versions keep its time until it is reached again.
  fixture.clock.stepMs = 0;
  for (const cents of [700, 1_000, 1_500]) await fixture.delta([raised(cents)]);
  expect(await largest(fixture)).toEqual([
    [100, 700],
    [1_000, 1_500],
    [700, 1_000],
  ]);
});
