import { type Html, html } from '../../runtime/html.js';
import { count, money } from '../parts/format.js';
import { named } from '../parts/named.js';
import { share, table } from '../parts/table.js';
import type { CompanyTotals } from '../ports/overview.js';

/** In page addresses, stands for investments without a company. */
export const noCompany = 'none';

export const companyPath = (source: string, company: string | null): string =>
  `/companies/${encodeURIComponent(source)}/${encodeURIComponent(company ?? noCompany)}`;

export function companiesBody(companies: readonly CompanyTotals[]): Html {
  // Amounts in different currencies cannot be added, so each currency has its own total.
  const totals = new Map<string | null, number>();
  for (const { currency, raised_cents } of companies)
    totals.set(currency, raised_cents + (totals.get(currency) ?? 0));
  return html`<div class="heading"><h1>Companies</h1></div>
${table(
  'Companies',
  [
    ...[{ title: 'Company' }, { title: 'Source' }, { title: 'Investments', number: true }],
    ...[
      { title: 'Committed', number: true },
      { title: 'Raised', number: true },
      { title: 'Share of its currency' },
    ],
  ],
  companies.map((one) => [
    named(
      ...([one.company_name, one.company_id, 'no company'] as const),
      `${companyPath(one.source, one.company_id)}?currency=${encodeURIComponent(one.currency ?? '')}`,
    ),
    ...[one.source, count(one.investments), money(one.committed_cents, one.currency)],
    ...[money(one.raised_cents, one.currency), share(one.raised_cents, totals.get(one.currency) ?? 0)],
  ]),
  'No investments yet: the platform has none, or no first listing is complete. Operations says which.',
)}`;
}
