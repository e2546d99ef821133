import { expect, test } from 'vitest';
import { companyBody } from '../../src/console/pages/company.js';
import type { CompanySeen } from '../../src/console/ports/company.js';

const none: CompanySeen = {
  name: 'Copper Labs',
  byStatus: [],
  byRound: [],
  byDay: [],
  leftByDay: [],
  goneByDay: [],
  largest: [],
  figures: [],
  weeks: { from: '2026-10-14', to: '2026-10-20', beforeFrom: '2026-10-07', beforeTo: '2026-10-13' },
  rounds: [],
};

/** One investment in dollars that was withdrawn. */
const left: CompanySeen = {
  ...none,
  leftByDay: [{ day: '2026-10-19', currency: 'usd', investments: 1 }],
  goneByDay: [{ day: '2026-10-12', currency: 'usd', investments: 1 }],
  largest: [
    {
      ...{ seq: 7, at: '2026-10-19T12:00:00.000Z', kind: 'removed', id: 'inv_gone' },
      ...{ round_name: null, currency: 'usd', before_cents: 50_000, after_cents: 0 },
    },
  ],
};
const euros: CompanySeen = {
  ...left,
  byStatus: [
    { status: 'active', currency: 'eur', investments: 1, committed_cents: 10_000, raised_cents: 10_000 },
  ],
};

const text = (seen: CompanySeen, wanted = ''): string =>
  companyBody('acme', 'co_1', seen, wanted)
    .text.replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

test('the page of a company shows what was withdrawn, also when nothing is left', () => {
  const page = text(left);
  expect(page).toContain('All its investments were withdrawn.');
  expect(page).toContain('Day New Withdrawn 2026-10-12 1 0 2026-10-19 0 1 ');
  expect(page).toContain('inv_gone 2026-10-19 12:00:00 removed $500.00 $0.00 -$500.00');
  expect(page).not.toContain('No investment was added or withdrawn yet.');
  expect(page).not.toContain('No changes since the first listing.');
});

test('the page of a company offers a currency in which all investments were withdrawn', () => {
  expect(text(euros)).toContain('EUR USD See the roster');
  expect(text(euros)).not.toContain('inv_gone');
  const page = text(euros, 'usd');
  expect(page).toContain('All its investments in USD were withdrawn.');
  expect(page).toContain('inv_gone');
});

test('the page of a company without any investment says so', () => {
  expect(text(none)).toContain('It has no investments yet.');
});
