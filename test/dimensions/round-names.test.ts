import { expect, test } from 'vitest';
import { hiddenRound, parseRound, type RoundRecord } from '../../src/dimensions/collections/rounds.js';
import { nameRounds } from '../../src/dimensions/round-names.js';
import { offering } from './samples.js';

const named = (...rounds: readonly RoundRecord[]) => [...nameRounds(rounds).values()];

test.each([
  ['the exemption, the security and the year of opening', {}, 'Reg CF SAFE 2025'],
  ['the name that the platform gives', { name: 'Seed SAFE, 2025' }, 'Seed SAFE, 2025'],
  [
    'the intended security of reservations',
    { testing_the_waters: true, security: null, intended_security: { type: 'equity', label: 'Equity' } },
    'Reg CF Equity 2025 reservations',
  ],
  ['what is known, without a security', { security: null, started_at: null }, 'Reg CF'],
  ['a word, when nothing is known', { security: null, started_at: null, exemption: null }, 'Round'],
])('the name of a round is %s', (_, set, name) => {
  expect(named(parseRound(offering('ofr_1', set)))).toEqual([name]);
});

test('rounds of a company with the same name get the day they opened, and then the end of their id', () => {
  const twins = [
    parseRound(offering('ofr_aaaa1111')),
    parseRound(offering('ofr_bbbb2222', { started_at: '2025-09-01T00:00:00Z' })),
    parseRound(offering('ofr_cccc3333', { started_at: '2025-09-01T23:00:00Z' })),
  ];
  expect(named(...twins)).toEqual([
    'Reg CF SAFE 2025, opened 2025-03-14',
    'Reg CF SAFE 2025, opened 2025-09-01 (…2222)',
    'Reg CF SAFE 2025, opened 2025-09-01 (…3333)',
  ]);
  expect(named(...[...twins].reverse()).sort()).toEqual(named(...twins));
});

test('rounds of a company with the same name and no date get the end of their id', () => {
  const undated = (id: string) => parseRound(offering(id, { started_at: null }));
  expect(named(undated('ofr_aaaa1111'), undated('ofr_bbbb2222'))).toEqual([
    'Reg CF SAFE (…1111)',
    'Reg CF SAFE (…2222)',
  ]);
});

/** Returns how many elements of arrays `work` walks through. */
function elementsWalked(work: () => void): number {
  const walk = Array.prototype[Symbol.iterator];
  let walked = 0;
  const counting = function* <Item>(this: readonly Item[]): Generator<Item> {
    for (let index = 0; index < this.length; index += 1) {
      walked += 1;
      yield this[index] as Item;
    }
  };
  try {
    Object.defineProperty(Array.prototype, Symbol.iterator, { value: counting });
    work();
  } finally {
    Object.defineProperty(Array.prototype, Symbol.iterator, { value: walk });
  }
  return walked;
}

test('twice as many rounds of one name take twice as many steps to name', () => {
  const rounds = Array.from({ length: 800 }, (_, index) => parseRound(offering(`ofr_${index}`)));
  const half = elementsWalked(() => void nameRounds(rounds.slice(0, 400)));
  expect(half).toBeGreaterThan(400);
  expect(elementsWalked(() => void nameRounds(rounds))).toBeLessThanOrEqual(2 * half);
});

test('a round that the platform hides is named after its investments', () => {
  const labels = {
    investmentType: 'SAFE',
    offeringType: 'Reg D',
    firstAppliedAt: '2024-02-01T00:00:00.000Z',
  };
  const hidden = hiddenRound({ id: 'ofr_9', companyId: 'co_1', reason: '404 not_found' }, undefined, labels);
  expect(named(hidden)).toEqual(['Reg D SAFE 2024']);
});
