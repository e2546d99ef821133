import { expect, test } from 'vitest';
import { collections } from '../../src/dimensions/collections/index.js';
import { compareListings } from '../../src/dimensions/compare-listings.js';
import type { Collection, Listing, Row } from '../../src/dimensions/ports.js';

const complete = (collection: Collection, ...rows: readonly Row[]): Listing => ({
  kind: 'complete',
  collection,
  rows,
  problem: null,
});
const compare = (listings: readonly Listing[], stored: Readonly<Record<string, readonly Row[]>>) =>
  compareListings(listings, {
    ...{ attempt: 1, investedRounds: [] },
    stored: new Map(Object.entries(stored)) as never,
  });

const { rounds, round_stats } = collections;
const round = (over: Row = {}): Row => ({ id: 'ofr_1', name: 'A', status: 'open', closed_at: null, ...over });

test.each<[string, Row, readonly string[]]>([
  ['the same values', {}, []],
  ['a column without a value on one side only in form', { closed_at: undefined as never }, []],
  ['figures that change with every investment', { raised_cents_reported: 5, investor_count_reported: 2 }, []],
  ['other values', { name: 'B', status: 'closed', raised_cents_reported: 5 }, ['name', 'status']],
  ['a value that is no longer there', { name: null }, ['name']],
])('a served round with %s differs from the stored one in these columns', (_, over, columns) => {
  const differences =
    columns.length === 0 ? [] : [{ kind: 'record', collection: 'rounds', id: 'ofr_1', columns }];
  expect(compare([complete(rounds, round(over))], { rounds: [round()] })).toEqual({
    compared: 1,
    differences,
  });
});

test('rounds that only the platform or only the mirror has are missing and extra', () => {
  const both = compare([complete(rounds, round(), round({ id: 'ofr_2' }))], {
    rounds: [round(), round({ id: 'ofr_3' })],
  });
  expect(both).toEqual({
    compared: 2,
    differences: [
      { kind: 'missing', collection: 'rounds', id: 'ofr_2', columns: [] },
      { kind: 'extra', collection: 'rounds', id: 'ofr_3', columns: [] },
    ],
  });
});

test('a listing that is not complete proves nothing, and stats have no versions to compare', () => {
  const incomplete: Listing = { kind: 'incomplete', collection: rounds, problem: '404 not_found' };
  const stored = { rounds: [round()], round_stats: [{ offering_id: 'ofr_1', status: 'confirmed' }] };
  expect(compare([incomplete, complete(round_stats)], stored)).toEqual({ compared: 0, differences: [] });
});
