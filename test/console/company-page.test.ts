import { expect, test } from 'vitest';
import { type CompanyShown, companyBody } from '../../src/console/pages/company.js';
import type { CompanySeen } from '../../src/console/ports/company.js';
import type { Instant } from '../../src/domain/instant.js';

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

const now = Date.parse('2026-10-20T12:00:00.000Z');
const asOf = { text: '2026-10-15', at: '2026-10-15T23:59:59.999Z' as Instant };

const page = (seen: CompanySeen, shown: Partial<CompanyShown> = {}): string =>
  companyBody({ source: 'acme', company: 'co_1', currency: null, asOf: null, now, ...shown }, seen).text;

const text = (seen: CompanySeen, currency: string | null = null): string =>
  page(seen, { currency })
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

test('the page of a company shows what was withdrawn, also when nothing is left', () => {
  const shown = text(left);
  expect(shown).toContain('All its investments were withdrawn.');
  expect(shown).toContain('Day New Withdrawn 2026-10-12 1 0 2026-10-19 0 1 ');
  expect(shown).toContain('inv_gone 2026-10-19 12:00:00 removed $500.00 $0.00 -$500.00');
  expect(shown).not.toContain('No investment was added or withdrawn yet.');
  expect(shown).not.toContain('No changes since the first listing.');
});

test('the page of a company offers a currency in which all investments were withdrawn', () => {
  expect(text(euros)).toContain('EUR USD As of Show See the roster');
  expect(text(euros)).not.toContain('inv_gone');
  const shown = text(euros, 'usd');
  expect(shown).toContain('All its investments in USD were withdrawn.');
  expect(shown).toContain('inv_gone');
});

test('the page of a company without any investment says so', () => {
  expect(text(none)).toContain('It has no investments yet.');
});

test('the page of a company in the past keeps its time and currency in its links and its form', () => {
  const then = page(euros, { asOf, currency: 'usd' });
  expect(then).toContain('action="/companies/acme/co_1"><input type="hidden" name="currency" value="usd">');
  expect(then).toContain('name="as-of" value="2026-10-15" max="2026-10-20"');
  expect(then).toContain('href="/companies/acme/co_1?currency=eur&amp;as-of=2026-10-15"');
  expect(then).toContain('href="/roster?source=acme&amp;company=co_1&amp;as-of=2026-10-15"');
  expect(then).toContain('<a href="/companies/acme/co_1?currency=usd">Back to now</a>');
  expect(then).toContain('<a href="/companies?as-of=2026-10-15">Companies</a>');
  expect(then).toContain('All its investments in USD had been withdrawn.');
  expect(then).toContain('The last seven days are those from 2026-10-14 to 2026-10-20 in UTC.');
  expect(page(none, { asOf })).toContain('It had no investments then.');
});
