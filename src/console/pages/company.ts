import type { Fault } from '../../domain/fault.js';
import { type Html, html } from '../../runtime/html.js';
import { type AsOf, asOfBanner, asOfField, asOfProblem } from '../parts/as-of.js';
import { chart } from '../parts/chart.js';
import { statusWords } from '../parts/columns.js';
import { count, currencyCode, day, moment, money, moneyOrNothing } from '../parts/format.js';
import { idText } from '../parts/id.js';
import { named } from '../parts/named.js';
import { share, table } from '../parts/table.js';
import type { CompanySeen, LargeChange, RoundSeen } from '../ports/company.js';
import { companiesAddress, companyAddress, companyPath } from './companies.js';
import { companyFigures, currencyWords } from './company-figures.js';
import { recordLink } from './record-link.js';

type Currency = string | null;

/** Which page of a company is shown. */
export interface CompanyShown {
  readonly source: string;
  readonly company: string | null;
  /** The currency in the address. Null without one; empty for investments that have none. */
  readonly currency: string | null;
  /** Null for the present. */
  readonly asOf: AsOf | null;
  readonly now: number;
}

/** Returns the charts of one company in one currency: amounts in different currencies are never added. */
export function companyBody(shown: CompanyShown, seen: CompanySeen): Html {
  const { source, company, currency: wanted, asOf } = shown;
  const past = asOf?.text ?? '';
  const currencies = currenciesOf(seen);
  const currency =
    wanted === null
      ? (currencies[0] ?? null)
      : (currencies.find((one) => (one ?? '') === wanted) ?? currencies[0] ?? null);
  const own = <Row extends { readonly currency: Currency }>(rows: readonly Row[]) =>
    rows.filter((row) => row.currency === currency);
  const byStatus = own(seen.byStatus);
  const [figures] = own(seen.figures);
  return html`<div class="heading"><div><p class="crumb"><a href="${companiesAddress(past)}">Companies</a></p><h1>${seen.name ?? source}</h1><p class="under soft">${seen.name === null ? null : `${source} `}${company === null ? 'no company' : idText(company)}</p></div>
${currencies.length > 1 ? chooseCurrency(shown, currencies, currency) : null}
${asOfForm(shown)}
<a class="button" href="${rosterOf(source, company, past)}">See the roster</a></div>
${asOf === null ? null : asOfBanner(asOf, companyAddress(source, company, wanted === null ? {} : { currency: wanted }))}
${figures === undefined ? html`<p class="empty">${noneNow(seen, currency, asOf)}</p>` : html`<div class="card owner">${companyFigures(seen.name ?? source, figures, seen.weeks)}</div>`}
${asOf === null ? null : html`<p class="soft">The last seven days are those from ${seen.weeks.from} to ${seen.weeks.to} in UTC.</p>`}
${raisedOverTime(own(seen.byDay), currency, asOf)}
<div class="pair">
${totals(
  'status',
  'By status',
  byStatus.map((row) => ({ ...row, name: statusWords(row.status) })),
  currency,
)}
${totals(
  'round',
  'By round',
  own(seen.byRound).map((row) => ({ ...row, name: named(row.round_name, row.offering_id, 'no round') })),
  currency,
)}
</div>
${rounds(seen.rounds)}
${comingAndGoing(seen, currency)}
${largest(source, own(seen.largest))}`;
}

/** Says why a past time of a company cannot be shown. */
export const noPastCompany = (
  { source, company, currency, now }: CompanyShown,
  asOf: string,
  problem: Fault,
): Html =>
  html`<div class="heading"><div><p class="crumb"><a href="/companies">Companies</a></p><h1>${source}</h1><p class="under soft">${company === null ? 'no company' : idText(company)}</p></div>
${asOfForm({ source, company, currency, now, asOf: { text: asOf } })}</div>${asOfProblem(problem, companyPath(source, company))}`;

/** The currency stays the same at another time. */
const asOfForm = ({
  source,
  company,
  currency,
  asOf,
  now,
}: Omit<CompanyShown, 'asOf'> & { readonly asOf: Pick<AsOf, 'text'> | null }): Html =>
  html`<form class="as-of" method="get" action="${companyPath(source, company)}">${currency === null ? null : html`<input type="hidden" name="currency" value="${currency}">`}${asOfField(asOf?.text ?? '', now)} <button>Show</button></form>`;

function rosterOf(source: string, company: string | null, asOf: string): string {
  const query = new URLSearchParams({ source });
  if (company !== null) query.set('company', company);
  if (asOf !== '') query.set('as-of', asOf);
  return `/roster?${query}`;
}

/** The currency with the most money first; last those in which all investments were withdrawn. */
function currenciesOf({ byStatus, leftByDay }: CompanySeen): Currency[] {
  const raised = new Map<Currency, number>();
  for (const row of byStatus) raised.set(row.currency, (raised.get(row.currency) ?? 0) + row.raised_cents);
  const current = [...raised].sort(([, one], [, other]) => other - one).map(([currency]) => currency);
  return [...new Set([...current, ...leftByDay.map(({ currency }) => currency)])];
}

function noneNow({ byStatus, leftByDay }: CompanySeen, currency: Currency, asOf: AsOf | null): string {
  if (leftByDay.length === 0)
    return asOf === null ? 'It has no investments yet.' : 'It had no investments then.';
  return `All its investments${byStatus.length === 0 ? '' : ` in ${currencyWords(currency)}`} ${asOf === null ? 'were' : 'had been'} withdrawn.`;
}

const chooseCurrency = (
  { source, company, asOf }: CompanyShown,
  all: readonly Currency[],
  now: Currency,
): Html =>
  html`<nav aria-label="Currency"><ul class="chips">${all.map(
    (one) =>
      html`<li><a href="${companyAddress(source, company, { currency: one, asOf: asOf?.text ?? '' })}"${one === now ? html` aria-current="true"` : null}>${currencyCode(one) || 'none'}</a></li>`,
  )}</ul></nav>`;

function raisedOverTime(days: CompanySeen['byDay'], currency: Currency, asOf: AsOf | null): Html {
  let sofar = 0;
  const rows = days.map((one) => {
    sofar += one.raised_cents;
    return [
      { shown: one.day, value: one.day },
      { shown: money(one.raised_cents, currency) },
      { shown: money(sofar, currency), value: sofar / 100 },
    ];
  });
  return chart({
    id: 'raised',
    title: 'Raised over time',
    kind: 'line',
    unit: currencyCode(currency),
    note: `${asOf === null ? 'Current investments' : 'The investments of then'}, by the day (UTC) the investor applied.`,
    columns: [
      { title: 'Day' },
      { title: 'Raised', number: true },
      { title: 'Raised so far', number: true, series: 'Raised so far' },
    ],
    rows,
    summary:
      days.length === 0
        ? 'No data.'
        : `From ${days[0]?.day} to ${days.at(-1)?.day}, up to ${money(sofar, currency)}.`,
    empty: 'No investment has an application date yet.',
  });
}

interface NamedTotals {
  readonly name: string | Html;
  readonly investments: number;
  readonly raised_cents: number;
}

function totals(id: string, title: string, rows: readonly NamedTotals[], currency: Currency): Html {
  const sorted = rows.toSorted((one, other) => other.raised_cents - one.raised_cents);
  const all = sorted.reduce((sum, { raised_cents }) => sum + raised_cents, 0);
  return html`<section aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2>
${table(
  title,
  [
    { title: id === 'status' ? 'Status' : 'Round' },
    ...[{ title: 'Investments', number: true }, { title: 'Raised', number: true }, { title: 'Share' }],
  ],
  sorted.map((row) => [
    row.name,
    ...[count(row.investments), money(row.raised_cents, currency), share(row.raised_cents, all)],
  ]),
  'No investments.',
)}</section>`;
}

/** What the platform says of the rounds, also of those without an investment. */
function rounds(all: readonly RoundSeen[]): Html {
  return html`<section aria-labelledby="rounds-title"><h2 id="rounds-title">Rounds</h2>
${table(
  'Rounds',
  [
    ...['Round', 'Status'].map((title) => ({ title })),
    ...['Target', 'At most', 'Smallest investment'].map((title) => ({ title, number: true })),
    ...['Opened', 'Closes or closed'].map((title) => ({ title })),
  ],
  all.map((one) => [
    named(one.name, one.id, '–'),
    roundStatus(one),
    ...[one.target_cents, one.max_target_cents, one.min_investment_cents].map((cents) =>
      moneyOrNothing(cents, one.currency),
    ),
    ...[day(one.opened_at), day(one.closed_at ?? one.closes_at)],
  ]),
  'The platform describes no round of this company, or was not asked yet.',
)}</section>`;
}

function roundStatus({ status, testing_the_waters }: RoundSeen): string {
  const words = status === null ? 'not known' : statusWords(status);
  return testing_the_waters === 1 ? `${words}, reservations` : words;
}

function comingAndGoing({ byDay, leftByDay, goneByDay }: CompanySeen, currency: Currency): Html {
  const days = new Map<string, { made: number; left: number }>();
  const at = (which: string) => {
    const found = days.get(which) ?? { made: 0, left: 0 };
    days.set(which, found);
    return found;
  };
  for (const one of byDay) if (one.currency === currency) at(one.day).made += one.investments;
  for (const one of goneByDay) if (one.currency === currency) at(one.day).made += one.investments;
  for (const one of leftByDay) if (one.currency === currency) at(one.day).left += one.investments;
  const rows = [...days].sort(([one], [other]) => (one < other ? -1 : 1));
  return chart({
    id: 'flow',
    title: 'New and withdrawn per day',
    kind: 'bars',
    unit: '',
    note: 'New: by the day the investor applied, including investments withdrawn since. Withdrawn: by the day rosterd saw it.',
    columns: [
      { title: 'Day' },
      { title: 'New', number: true, series: 'New' },
      { title: 'Withdrawn', number: true, series: 'Withdrawn' },
    ],
    rows: rows.map(([which, { made, left }]) => [
      { shown: which, value: which },
      { shown: count(made), value: made },
      { shown: count(left), value: -left },
    ]),
    summary: `${count(rows.reduce((sum, [, { made }]) => sum + made, 0))} new, ${count(rows.reduce((sum, [, { left }]) => sum + left, 0))} withdrawn.`,
    empty: 'No investment was added or withdrawn yet.',
  });
}

const largest = (source: string, rows: readonly LargeChange[]): Html =>
  html`<section aria-labelledby="largest-title"><h2 id="largest-title">Largest changes</h2>
<p class="soft">The largest differences in amount among the newest 20,000 changes.</p>
${table(
  'Largest changes',
  [
    ...[{ title: 'Investment' }, { title: 'Seen' }, { title: 'Change' }],
    ...['Before', 'After', 'Difference'].map((title) => ({ title, number: true })),
  ],
  rows.map(({ id, round_name, at, kind, before_cents: before, after_cents: after, currency }) => [
    round_name === null
      ? recordLink(source, id)
      : html`<span class="named">${round_name}${recordLink(source, id)}</span>`,
    ...[moment(at), kind, money(before, currency), money(after, currency)],
    `${after > before ? '+' : ''}${money(after - before, currency)}`,
  ]),
  'No changes since the first listing.',
)}</section>`;
