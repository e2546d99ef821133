import { expect, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import { everyLane, laneOf, parseLane } from '../../src/inbox/ports.js';

const named = (...lengths: readonly number[]) =>
  lengths.map((length, no) => String(no).padStart(length, 'a') as SourceName);

test.each([
  ['no source has no lane', [], null],
  ['the order of sources and repetitions do not matter', ['beta', 'acme', 'beta'], 'acme,beta'],
  ['names of 2,000 characters are listed', named(999, 1_000), `${'a'.repeat(998)}0,${'a'.repeat(999)}1`],
  ['one character more is the lane of every source', named(1_000, 1_000), everyLane],
] as const)('lane of an event: %s', (_, sources, lane) => {
  expect(laneOf(sources as readonly SourceName[])).toBe(lane);
});

test('lane from another process: only names of sources, or that of every source, are a lane', () => {
  for (const lane of ['acme', 'acme,beta', '*']) expect(parseLane(lane), lane).toBe(lane);
  for (const other of ['', 'acme,', 'acme,*', 'acme,be ta', null, 5, ['acme']])
    expect(parseLane(other), JSON.stringify(other)).toBeUndefined();
});
