import { expect, test } from 'vitest';
import { tempFolder } from '../store/temp-folder.js';
import { runYears } from './run-years.js';

/* `npm run simulate:years` runs two years, measures memory, and turns the machine off for longer than cursors last. */
test('years: three weeks from the files of the first version, with three upgrades, end equal to the platform and flat', async () => {
  const { violations, quarters, counts } = await runYears({
    folder: tempFolder(),
    days: 21,
    seed: 4,
    daysPerQuarter: 6,
  });
  expect(violations).toEqual([]);
  expect(quarters).toHaveLength(3);
  expect(counts).toMatchObject({ upgrades: 3, 'ticks with a retired version: failed': 2 });
  expect(counts['webhooks accepted']).toBeGreaterThan(20);
  expect(counts['ticks: done']).toBeGreaterThan(100);
}, 120_000);
