import { type Fault, isFault } from '../../domain/fault.js';
import { type Html, html } from '../../runtime/html.js';
import { type AsOf, asOfBanner, asOfField, asOfProblem } from '../parts/as-of.js';
import { count, money } from '../parts/format.js';
import { named } from '../parts/named.js';
import { share, table } from '../parts/table.js';
import type { CompanyTotals, PastCompanies } from '../ports/overview.js';

/** In page addresses, stands for investments without a company. */
export const noCompany = 'none';

export const companyPath = (source: string, company: string | null): string =>
  `/companies/${encodeURIComponent(source)}/${encodeURIComponent(company ?? noCompany)}`;

/** Returns the address of the list of companies; `asOf` is empty for the present. */
export const companiesAddress = (asOf: string): string =>
  `/companies${asOf === '' ? '' : `?as-of=${encodeURIComponent(asOf)}`}`;

interface CompanyAddress {
  /** The currency of the charts: null for investments without one. Absent: the first of the company. */
  readonly currency?: string | null;
  /** Empty for the present. */
  readonly asOf?: string;
}

/** Returns the address of the page of a company. */
export function companyAddress(
  source: string,
  company: string | null,
  { currency, asOf = '' }: CompanyAddress,
): string {
  const query = [
    ...(currency === undefined ? [] : [`currency=${encodeURIComponent(currency ?? '')}`]),
    ...(asOf === '' ? [] : [`as-of=${encodeURIComponent(asOf)}`]),
  ];
  return `${companyPath(source, company)}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

/** Returns the present totals of all companies. */
export function companiesBody(companies: readonly CompanyTotals[], now: number): Html {
  return html`${companiesHeading('', now)}
${companiesTable(
  companies,
  '',
  'No investments yet: the platform has none, or no first listing is complete. Operations says which.',
)}`;
}

/** Returns the totals of a past time. `seen` is an error when that time cannot be shown. */
export function pastCompaniesBody(asOf: string, seen: (PastCompanies & AsOf) | Fault, now: number): Html {
  const heading = companiesHeading(asOf, now);
  if (isFault(seen)) return html`${heading}${asOfProblem(seen, '/companies')}`;
  return html`${heading}${asOfBanner(seen, '/companies', seen.younger)}
${companiesTable(seen.totals, asOf, 'No investments.')}`;
}

const companiesHeading = (asOf: string, now: number): Html =>
  html`<div class="heading"><h1>Companies</h1><form class="as-of" method="get" action="/companies">${asOfField(asOf, now)} <button>Show</button></form></div>`;

function companiesTable(companies: readonly CompanyTotals[], asOf: string, empty: string): Html {
  // Amounts in different currencies cannot be added, so each currency has its own total.
  const totals = new Map<string | null, number>();
  for (const { currency, raised_cents } of companies)
    totals.set(currency, raised_cents + (totals.get(currency) ?? 0));
  return table(
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
        companyAddress(one.source, one.company_id, { currency: one.currency, asOf }),
      ),
      ...[one.source, count(one.investments), money(one.committed_cents, one.currency)],
      ...[money(one.raised_cents, one.currency), share(one.raised_cents, totals.get(one.currency) ?? 0)],
    ]),
    empty,
  );
}
