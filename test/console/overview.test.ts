import { expect, test } from 'vitest';
import { overviewParts } from '../../src/console/pages/overview.js';
import type { CompanyFigures, OverviewSeen } from '../../src/console/ports/overview.js';
import { countsOf } from './running-console.js';

const empty: OverviewSeen = {
  at: '2026-10-20T12:00:00.000Z',
  health: 'ok',
  counts: countsOf([]),
  truncated: false,
  sources: [],
  inbox: { pending: 0, given_up: 0 },
  notices: { pending: 0, given_up: 0 },
  alerts: { pending: 0, given_up: 0 },
  erasures: { pending: 0 },
  change_seq: 0,
  problems: [],
  waits: [],
  backup: null,
  exports: null,
  lake: null,
  companies: [],
  companies_count: 0,
  all: [],
  weeks: { from: '2026-10-14', to: '2026-10-20', beforeFrom: '2026-10-07', beforeTo: '2026-10-13' },
  changes: [],
};
const nothing = { investments: 0, committed_cents: 0, raised_cents: 0 };
const figures = (over: Partial<CompanyFigures>): CompanyFigures => ({
  source: 'acme',
  company_id: 'co_1',
  company_name: 'Copper Labs',
  currency: 'usd',
  investments: 2,
  committed_cents: 30_000,
  raised_cents: 10_000,
  investors: 1,
  week: { investments: 1, committed_cents: 20_000, raised_cents: 9_000 },
  weekBefore: nothing,
  ...over,
});
const text = (over: Partial<OverviewSeen>): string =>
  overviewParts({ ...empty, ...over })
    .text.replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

test('the overview of a mirror without sources says what comes and when', () => {
  const page = text({});
  expect(page).toContain('Companies appear when the first listing of a source is complete.');
  expect(page).toContain('No changes yet.');
  expect(page).not.toContain('All companies');
});

test('the overview of complete listings without an investment does not say that a listing is missing', () => {
  const page = text({ sources: [{ readable: 1, followed: true, paused_at: null } as never] });
  expect(page).toContain('No investments yet. Each company appears with its first one.');
  expect(page).not.toContain('listing of a source is complete');
});

test('the overview of one company compares its weeks and has no sums over all', () => {
  const page = text({ companies: [figures({})] });
  expect(page).toMatch(/Copper Labs co_1 Raised \$100\.00 Committed \$300\.00 Investors 1 Investments 2/);
  expect(page).toMatch(/Raised \$90\.00 \$0\.00 new Committed \$200\.00 \$0\.00 new Investments 1 0 new/);
  expect(page).toContain('2026-10-14 to 2026-10-20, today included, against 2026-10-07 to 2026-10-13');
  expect(page).not.toContain('All companies');
});

test('the overview adds up companies by currency, and never two currencies', () => {
  const sums = { week: nothing, weekBefore: nothing };
  const page = text({
    companies: [
      figures({}),
      figures({ company_id: 'co_2', company_name: 'Kiwi Health' }),
      figures({ company_id: 'co_3', company_name: 'Sol Health', currency: 'eur' }),
    ],
    companies_count: 3,
    all: [
      { currency: 'usd', investments: 4, committed_cents: 60_000, raised_cents: 20_000, ...sums },
      { currency: 'eur', investments: 2, committed_cents: 30_000, raised_cents: 10_000, ...sums },
    ],
  });
  expect(page).toMatch(/All companies USD Raised \$200\.00 Committed \$600\.00 Investments 4 /);
  expect(page).toMatch(/EUR Raised €100\.00 Committed €300\.00 Investments 2 /);
});

test('the overview shows the 24 companies with the most investments and leads to the others', () => {
  const companies = Array.from({ length: 30 }, (_, index) =>
    figures({ company_id: `co_${index}`, company_name: `Company ${index}`, investments: index }),
  );
  const page = text({ companies, companies_count: 30 });
  expect(page).toContain('Company 29 ');
  expect(page).toContain('Company 6 ');
  expect(page).not.toContain('Company 5 ');
  expect(page).toContain('All 30 companies');
});
