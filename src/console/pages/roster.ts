import type { Fault } from '../../domain/fault.js';
import { type Html, html } from '../../runtime/html.js';
import { type AsOf, asOfBanner, asOfField, asOfProblem } from '../parts/as-of.js';
import { statusWords } from '../parts/columns.js';
import { count, counted, day, moneyOrNothing } from '../parts/format.js';
import { idText } from '../parts/id.js';
import { identityBar, masked } from '../parts/identity-bar.js';
import { csrfField } from '../parts/layout.js';
import { named } from '../parts/named.js';
import { type Column, table } from '../parts/table.js';
import type { RosterOrder, RosterSeen } from '../ports/roster.js';
import { recordLink } from './record-link.js';
import { type RosterAddress, rosterPath } from './roster-address.js';

export interface RosterShown {
  readonly address: RosterAddress;
  readonly seen: RosterSeen;
  readonly csrf: string;
  /** The time until which names are shown; null while they are masked. */
  readonly identityUntil: number | null;
  readonly mayShowNames: boolean;
  /** The text that the address searches for; undefined when it is not known. Names of people are searched while shown. */
  readonly text: string | undefined;
  readonly rowsMax: number;
  /** The past time that the rows are of; null for the present. */
  readonly asOf: AsOf | null;
  readonly now: number;
}

/** Returns the page for a past time that cannot be shown. */
export function noPastRoster(problem: Fault, asOf: string, now: number): Html {
  return html`<h1>Roster</h1>${asOfProblem(problem, '/roster')}
<form class="filters" method="get" action="/roster">${asOfField(asOf, now)}<span class="buttons"><button>Show</button></span></form>`;
}

const narrowed = (shown: RosterShown): boolean =>
  Object.keys(shown.address.filter).length > 0 || shown.text !== undefined || shown.address.after !== null;

export function rosterBody(shown: RosterShown): Html {
  const { address, seen, csrf, identityUntil, mayShowNames } = shown;
  // One company needs no column of its own.
  const several = new Set(seen.rows.map(({ company_id }) => company_id)).size > 1;
  return html`<div class="heading"><h1>Roster</h1>${identityBar(csrf, identityUntil, pathAfterIdentity(shown), mayShowNames)}</div>
${shown.asOf === null ? null : asOfBanner(shown.asOf, rosterPath(address, { asOf: '', after: null }), seen.younger)}
${find(shown)}${filters(shown)}${completing(seen.completingNames)}
<p class="soft" role="status">${howMany(shown)}</p>
${table(
  'Investments',
  [
    sortable('Investment', null, address),
    { ...sortable('Committed', 'committed_cents', address), number: true },
    { ...sortable('Raised', 'raised_cents', address), number: true },
    sortable('Status', 'status', address),
    ...[{ title: 'Investor' }, { title: 'Round' }, ...(several ? [{ title: 'Company' }] : [])],
    sortable('Applied', 'applied_at', address),
    sortable('Observed', 'observed_at', address),
  ],
  seen.rows
    .slice(0, shown.rowsMax)
    .map((row) => [
      recordLink(row.source, row.id),
      moneyOrNothing(row.committed_cents, row.currency),
      moneyOrNothing(row.raised_cents, row.currency),
      statusWords(row.status),
      investor(row.name, row.email, row.investor_id, identityUntil !== null),
      named(row.round_name, row.offering_id, '–'),
      ...(several ? [named(row.company_name, row.company_id, '–')] : []),
      ...[day(row.applied_at), day(row.observed_at)],
    ]),
  narrowed(shown)
    ? 'No investment matches. Remove a filter to see more.'
    : shown.asOf === null
      ? 'No investments yet: the platform has none, or no first listing is complete. Operations says which.'
      : 'The mirror had no investments then.',
)}
${paging(shown)}${download(shown)}`;
}

/** Masking names also drops the names searched for, so the path then has no search. */
const pathAfterIdentity = ({ address, identityUntil }: RosterShown): string =>
  rosterPath(address, identityUntil === null ? {} : { search: '' });

function sortable(title: string, order: RosterOrder | null, address: RosterAddress): Column {
  if (order === null) return { title };
  const current = address.order === order;
  const descending = current ? !address.descending : true;
  const link = html`<a href="${rosterPath(address, { order, descending, after: null })}">${title}<span class="direction" aria-hidden="true"></span></a>`;
  return { title: link, sort: current ? (address.descending ? 'descending' : 'ascending') : 'none' };
}

function investor(name: string | null, email: string | null, id: string | null, shown: boolean): Html {
  const person = shown
    ? html`<span class="person">${name ?? 'no name'}${email === null ? null : html`<span class="soft">${email}</span>`}</span>`
    : masked;
  return html`<span class="named">${person}${id === null ? null : idText(id)}</span>`;
}

/** The search text is sent in the body of the form, because a page address must not contain a name. */
function find(shown: RosterShown): Html {
  const { address, csrf } = shown;
  return html`<form class="find" method="post" action="/roster/find" role="search">${csrfField(csrf)}<input type="hidden" name="to" value="${rosterPath(address)}">
<label for="find">Find</label><input id="find" name="text" type="search" maxlength="200" autocomplete="off" value="${textShown(shown) ?? address.filter.id ?? ''}" placeholder="an id or a name" aria-describedby="find-note"><button>Find</button>
<p id="find-note" class="soft">${findNote(shown)}</p></form>`;
}

/** While names are masked, a text is shown only if a company or round has it in its name: it may be that of a person. */
const textShown = ({ text, identityUntil, seen }: RosterShown): string | undefined =>
  identityUntil !== null || seen.rows.length > 0 ? text : undefined;

function findNote({ address, text, identityUntil, mayShowNames }: RosterShown): Html | string {
  if (address.search === '')
    return `Investments, investors (usr_…), rounds (ofr_…) and companies (co_…) by the beginning of their id, or ${identityUntil === null ? 'rounds and companies' : 'people, rounds and companies'} by a part of their name.`;
  if (text === undefined)
    return html`<strong>The name you searched for is no longer stored, so these rows are not filtered by it.</strong> Type it again.`;
  return identityUntil === null
    ? html`Investments in rounds and companies with this text in their name. <strong>${mayShowNames ? 'Show names to search people too.' : 'Names of people are masked, so they are not searched.'}</strong>`
    : 'Filtered by your search text, which is not part of the page address. Clear the field to see all rows.';
}

function filters({ address, seen, now }: RosterShown): Html {
  const { filter } = address;
  const options = (pick: (row: RosterSeen['choices'][number]) => string | null) =>
    [...new Set(seen.choices.map(pick))].filter((value) => value !== null).sort();
  /** Companies and rounds are listed by their names, with the id for those that have the same. */
  const names = new Map(
    seen.choices.flatMap(({ company_id, company_name, offering_id, round_name }) => [
      [company_id, company_name] as const,
      [offering_id, round_name] as const,
    ]),
  );
  const labelOf = (value: string) => {
    const name = names.get(value) ?? null;
    return name === null ? statusWords(value) : `${name} · ${value}`;
  };
  const choose = (name: 'source' | 'company' | 'round' | 'status', label: string, all: readonly string[]) => {
    const chosen = filter[name];
    const known = chosen === undefined || all.includes(chosen) ? all : [...all, chosen];
    const listed = known.toSorted((one, other) => (labelOf(one) < labelOf(other) ? -1 : 1));
    return html`<label>${label}<select name="${name}"><option value="">all</option>${listed.map(
      (value) =>
        html`<option value="${value}"${value === chosen ? html` selected` : null}>${labelOf(value)}</option>`,
    )}</select></label>`;
  };
  return html`<form class="filters" method="get" action="/roster" aria-label="Filters">
${choose(
  'source',
  'Source',
  options(({ source }) => source),
)}
${choose(
  'company',
  'Company',
  options(({ company_id }) => company_id),
)}
${choose(
  'round',
  'Round',
  options(({ offering_id }) => offering_id),
)}
${choose(
  'status',
  'Status',
  options(({ status }) => status),
)}
${asOfField(address.asOf, now)}
${address.search === '' ? null : html`<input type="hidden" name="search" value="${address.search}">`}
${filter.id === undefined ? null : html`<input type="hidden" name="id" value="${filter.id}">`}
<input type="hidden" name="order" value="${address.order}"><input type="hidden" name="dir" value="${address.descending ? 'desc' : 'asc'}">
<span class="buttons"><button class="primary">Filter</button> <a class="button" href="/roster">Clear</a></span></form>`;
}

function completing(sources: readonly string[]): Html | null {
  const [first] = sources;
  if (first === undefined) return null;
  const whose =
    sources.length === 1
      ? `${first} has`
      : `${first} and ${counted(sources.length - 1, 'other source')} have`;
  return html`<p class="note">Names are incomplete until ${whose} been listed again, which happens by itself.</p>`;
}

function howMany({ seen }: RosterShown): string {
  return seen.count >= seen.countMax
    ? `More than ${count(seen.countMax - 1)} investments`
    : counted(seen.count, 'investment');
}

function paging({ address, seen, rowsMax }: RosterShown): Html | null {
  const last = seen.rows[rowsMax - 1];
  const more = seen.rows.length > rowsMax && last !== undefined;
  if (!more && address.after === null) return null;
  const next = more
    ? html`<a class="button" rel="next" href="${rosterPath(address, { after: { value: last[address.order], id: last.id, source: last.source } })}">Next ${count(rowsMax)}</a>`
    : html`<span class="soft">End of the list.</span>`;
  const first =
    address.after === null
      ? null
      : html`<a class="button" href="${rosterPath(address, { after: null })}">First page</a>`;
  return html`<nav class="paging" aria-label="Pages of the roster">${first} ${next}</nav>`;
}

function download(shown: RosterShown): Html {
  const { address, csrf, identityUntil, text } = shown;
  const search = text === undefined ? '' : address.search;
  const names =
    identityUntil === null
      ? html`<span class="soft">Without names, which are masked.</span>`
      : html`<label class="check"><input type="checkbox" name="identity" value="yes"> with names and emails</label>`;
  return html`<form class="download" data-download method="post" action="/roster/file">${csrfField(csrf)}<input type="hidden" name="to" value="${rosterPath(address, { search, after: null })}"><input type="hidden" name="people" value="${identityUntil === null ? 'no' : 'yes'}">
<span>Download these rows:</span> <button name="format" value="csv">CSV</button> <button name="format" value="jsonl">JSON Lines</button> ${names}</form>`;
}
