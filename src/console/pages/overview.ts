import { type Fault, isFault } from '../../domain/fault.js';
import { type Html, html } from '../../runtime/html.js';
import { type AsOf, asOfBanner, asOfField, asOfProblem } from '../parts/as-of.js';
import { statusWords } from '../parts/columns.js';
import { age, count, counted, currencyCode, money } from '../parts/format.js';
import { idText } from '../parts/id.js';
import { liveState } from '../parts/live-state.js';
import { named } from '../parts/named.js';
import { processProblems } from '../parts/process-problems.js';
import { table } from '../parts/table.js';
import type { CompanyFigures, OverviewSeen, PastOverviewSeen, Weeks } from '../ports/overview.js';
import { changesTable } from './changes-table.js';
import { companyAddress, companyPath } from './companies.js';
import { companyFigures, currencyWords, figure, weekTable } from './company-figures.js';
import { healthWords, sentence } from './source-card.js';
import { stateBadge } from './sources.js';
import { sourcesInState } from './sources-address.js';

type Source = OverviewSeen['sources'][number];

/** Companies with a card of their own; the page of companies lists all. */
const cardsMax = 24;
/** Cards of sources whose first listing is not complete. */
const unreadMax = 12;

/** Returns the page of owners. Its live part is sent again whenever something changes. */
export function overviewBody(seen: OverviewSeen): Html {
  const now = Date.parse(seen.at);
  return html`<div class="heading"><h1>Overview</h1>${asOfForm('', now)}${liveState(seen.at, now)}</div>
<div id="live" data-events="/events">${overviewParts(seen)}</div>`;
}

const asOfForm = (asOf: string, now: number): Html =>
  html`<form class="as-of" method="get" action="/">${asOfField(asOf, now)} <button>Show</button></form>`;

/** Returns the overview of a past time. `seen` is an error when that time cannot be shown. */
export function pastOverviewBody(asOf: string, seen: (PastOverviewSeen & AsOf) | Fault, now: number): Html {
  const heading = html`<div class="heading"><h1>Overview</h1>${asOfForm(asOf, now)}</div>`;
  if (isFault(seen)) return html`${heading}${asOfProblem(seen, '/')}`;
  return html`${heading}${asOfBanner(seen, '/', seen.younger)}
<section aria-labelledby="then-title"><h2 id="then-title">Investments then</h2>
${table(
  'Investments then',
  [
    ...['Company', 'Source', 'Status', 'Currency'].map((title) => ({ title })),
    ...['Investments', 'Committed', 'Raised'].map((title) => ({ title, number: true })),
  ],
  seen.totals.map((one) => [
    named(
      ...([one.company_name, one.company_id, 'no company'] as const),
      companyAddress(one.source, one.company_id, { currency: one.currency, asOf }),
    ),
    ...[one.source, statusWords(one.status), currencyCode(one.currency) || (one.currency ?? '–')],
    ...[count(one.investments), money(one.committed_cents, one.currency)],
    money(one.raised_cents, one.currency),
  ]),
  'No investments.',
)}</section>
<section aria-labelledby="before-title"><h2 id="before-title">Newest changes then</h2>
${changesTable('Newest changes then', seen.changes, null, 'No changes.')}</section>`;
}

/** Returns the sections of the page; each has an id, by which the script replaces it. */
export function overviewParts(seen: OverviewSeen): Html {
  const now = Date.parse(seen.at);
  return html`${processProblems(seen, now)}${attention(seen)}${allCompanies(seen)}${companies(seen, now)}
<section id="changes" aria-labelledby="changes-title"><h2 id="changes-title">Latest changes</h2>
${changesTable('Latest changes', seen.changes, now, 'No changes yet. The first listing of a source is its first change.')}</section>`;
}

/** Notes on this many sources; with more, the page of sources lists them. */
const notesMax = 8;

/** Sources to look at; the page of operations says what to do. */
function attention({ sources, counts }: OverviewSeen): Html | null {
  const wrong = sources.filter(
    ({ health, paused_at }) => health === 'failing' || health === 'attention' || paused_at !== null,
  );
  if (wrong.length === 0) return null;
  if (wrong.length > notesMax) return attentionCounts(counts.by_state);
  return html`<section id="attention" aria-label="Sources to look at">${wrong.map(
    ({ source, health, paused_at, meaning }) =>
      html`<p class="note wrong"><span class="state" data-state="${health}">${paused_at === null ? healthWords[health] : 'Paused'}</span> <strong>${source}</strong>: ${sentence(meaning)} <a href="/operations">See Operations</a></p>`,
  )}</section>`;
}

/** Says how many sources are in each state to look at. */
function attentionCounts(byState: OverviewSeen['counts']['by_state']): Html {
  const some = (['halted', 'failing', 'stale', 'attention', 'paused'] as const).filter(
    (state) => byState[state] > 0,
  );
  return html`<section id="attention" aria-label="Sources to look at"><p class="note wrong">${some.map(
    (state) =>
      html`${stateBadge(state)} <a href="${sourcesInState(state)}">${counted(byState[state], 'source')}</a> `,
  )}</p></section>`;
}

/** The sums of each currency over all companies. */
function allCompanies({ companies_count, all, weeks }: OverviewSeen): Html | null {
  if (companies_count < 2) return null;
  return html`<section id="all" aria-labelledby="all-title"><h2 id="all-title">All companies</h2>${all.map(
    ({ currency, week, weekBefore, ...sums }) => {
      const name = `All companies${all.length > 1 ? `, ${currencyWords(currency)}` : ''}`;
      return html`${all.length > 1 ? html`<h3>${currencyWords(currency)}</h3>` : null}
<div class="card owner"><dl class="figures plain">${figure('Raised', money(sums.raised_cents, currency))}
${figure('Committed', money(sums.committed_cents, currency))}
${figure('Investments', count(sums.investments))}</dl>
${weekTable(name, currency, week, weekBefore, weeks)}</div>`;
    },
  )}</section>`;
}

const investmentsIn = (rows: readonly CompanyFigures[]): number =>
  rows.reduce((sofar, { investments }) => sofar + investments, 0);

/** Amounts of different currencies cannot be compared; numbers of investments can. */
const byNumber = (rows: readonly CompanyFigures[]): readonly CompanyFigures[] =>
  rows.toSorted((one, other) => other.investments - one.investments);

const keyOf = ({ source, company_id }: Pick<CompanyFigures, 'source' | 'company_id'>): string =>
  JSON.stringify([source, company_id]);

function companies({ companies: all, companies_count, sources, weeks }: OverviewSeen, now: number): Html {
  const byCompany = new Map<string, CompanyFigures[]>();
  for (const one of byNumber(all)) byCompany.set(keyOf(one), [...(byCompany.get(keyOf(one)) ?? []), one]);
  const sorted = [...byCompany.values()].sort((one, other) => investmentsIn(other) - investmentsIn(one));
  const unread = sources.filter(({ readable, followed }) => readable === 0 && followed);
  const unreadShown = unread.slice(0, unreadMax);
  const shown = sorted.slice(0, cardsMax);
  return html`<section id="companies" aria-labelledby="companies-title"><h2 id="companies-title">Companies</h2>
${sorted.length === 0 && unread.length === 0 ? html`<p class="empty">${sources.some(({ readable }) => readable !== 0) ? 'No investments yet. Each company appears with its first one.' : 'No source is mirrored yet. Companies appear when the first listing of a source is complete.'}</p>` : null}
<div class="cards wide">${shown.map((rows, index) => companyCard(rows, index, sources, weeks, now))}${unreadShown.map((source) => unreadCard(source, now))}</div>
${unread.length > unreadShown.length ? html`<p><a href="${sourcesInState('waiting')}">More sources whose first listing is not complete</a></p>` : null}
${companies_count > shown.length ? html`<p><a href="/companies">All ${count(companies_count)} companies</a></p>` : null}
<p class="soft">Weeks are days in UTC by which the investor applied: ${weeks.from} to ${weeks.to}, today included, against ${weeks.beforeFrom} to ${weeks.beforeTo}. Only current investments count.</p></section>`;
}

/** Returns the card of a company: for each currency its totals, and this week against the last. */
function companyCard(
  rows: readonly CompanyFigures[],
  index: number,
  sources: readonly Source[],
  weeks: Weeks,
  now: number,
): Html {
  const [first] = rows;
  if (first === undefined) return html``;
  const { source, company_id, company_name } = first;
  const title = `company-${index}`;
  const name = company_name ?? source;
  const own = sources.find((one) => one.source === source);
  return html`<article class="card" aria-labelledby="${title}">
<header><div><h3 id="${title}"><a href="${companyPath(source, company_id)}">${name}</a></h3>
<p class="under soft">${company_id === null ? 'no company' : idText(company_id)}</p></div>
${own === undefined ? null : html`<p class="soft fresh-to">Complete up to ${age(own.complete_up_to, now)}</p>`}</header>
${rows.map((one) => {
  const { currency } = one;
  const label = rows.length > 1 ? `${name}, ${currencyWords(currency)}` : name;
  return html`${rows.length > 1 ? html`<h4>${currencyWords(currency)}</h4>` : null}${companyFigures(label, one, weeks)}`;
})}</article>`;
}

/** A source whose first listing is not complete shows how far it is. */
function unreadCard(source: Source, now: number): Html {
  const title = `unread-${source.source}`;
  const sofar =
    source.listing === null || source.listing_started_at === null
      ? 'The first listing has not started.'
      : html`First listing in progress since ${age(source.listing_started_at, now)}: ${source.listing.text}.`;
  return html`<article class="card" aria-labelledby="${title}">
<header><h3 id="${title}">${source.source}</h3><span class="state" data-state="${source.health}">${healthWords[source.health]}</span></header>
<p>${sofar}</p><p class="soft">Its figures appear when the listing is complete. <a href="/operations">See Operations</a></p></article>`;
}
