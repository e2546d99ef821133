import { type Html, html } from '../../runtime/html.js';
import { columnLabel, isFlag, statusWords, valueWords } from '../parts/columns.js';
import { age, currencyCode, moment, money } from '../parts/format.js';
import { idText } from '../parts/id.js';
import { identityBar, masked } from '../parts/identity-bar.js';
import { named } from '../parts/named.js';
import { table } from '../parts/table.js';
import type { RecordSeen } from '../ports/roster.js';
import { recordPath } from './record-link.js';

export interface RecordShown {
  readonly source: string;
  readonly id: string;
  readonly seen: RecordSeen;
  readonly csrf: string;
  readonly identityUntil: number | null;
  readonly mayShowNames: boolean;
  readonly now: number;
}

type Version = RecordSeen['versions'][number];
type Cell = Version['cells'][string];

/** Columns that the page shows elsewhere, or that describe the mirror and not the investment. */
const apart = new Set([
  ...['source', 'id', 'valid_from', 'change_seq', 'extra'],
  // Shown with the id of the company and round.
  ...['company_name', 'round_name'],
]);

export function recordBody(shown: RecordShown): Html {
  const { source, id, seen, csrf, identityUntil, mayShowNames, now } = shown;
  const [newest] = seen.versions;
  const gone = newest !== undefined && newest.valid_to !== null;
  return html`<div class="heading"><div><p class="crumb"><a href="/roster?source=${encodeURIComponent(source)}">Roster</a> / ${source}</p><h1>${titleOf(newest)}</h1><p class="under soft">${idText(id)}</p></div>
${identityBar(csrf, identityUntil, recordPath(source, id), mayShowNames)}</div>
${gone ? html`<p class="note wrong">No longer in the mirror: ${endWords(newest)} ${age(newest.valid_to, now)}. Below is the last version.</p>` : null}
<div class="pair">
<section aria-labelledby="now-title"><h2 id="now-title">${gone ? 'Last version' : 'Current version'}</h2>${newest === undefined ? null : columnsOf(newest, identityUntil !== null)}</section>
<div>${gone ? null : person(shown)}
<section aria-labelledby="history-title"><h2 id="history-title">Versions</h2>${history(seen.versions)}</section>
<section aria-labelledby="changes-title"><h2 id="changes-title">Changes</h2>
${table(
  'Changes',
  [{ title: 'Number' }, { title: 'Seen' }, { title: 'Change' }, { title: 'Columns' }, { title: 'Reason' }],
  seen.changes.map((one) => [
    ...[
      `#${one.seq}`,
      moment(one.at),
      one.kind,
      html`<span class="wrap">${one.fields.map(columnLabel).join(', ') || '–'}</span>`,
      one.reason ?? '–',
    ],
  ]),
  'No changes since the first listing.',
)}</section></div></div>`;
}

/** Returns what people call an investment: its round and company. */
export function titleOf(version: Version | undefined): string {
  const names = [version?.cells.round_name, version?.cells.company_name].filter(
    (name) => typeof name === 'string',
  );
  return names.length === 0 ? 'Investment' : `Investment in ${names.join(' · ')}`;
}

const currencyOf = ({ cells }: Version): string | null =>
  typeof cells.currency === 'string' ? cells.currency : null;

function columnsOf(version: Version, identityShown: boolean): Html {
  const { cells } = version;
  const currency = currencyOf(version);
  const rows = Object.entries(cells).filter(([name, value]) => !apart.has(name) && value !== null);
  return html`<dl class="columns">${rows.map(
    ([name, value]) =>
      html`<div><dt title="${name}">${columnLabel(name)}</dt><dd>${namedCell(cells, name) ?? cellText(name, value, currency)}</dd></div>`,
  )}${
    // Unknown fields may contain personal data, so they are treated as identity.
    cells.extra === null || cells.extra === undefined
      ? null
      : html`<div><dt title="extra">Unknown fields</dt><dd>${identityShown ? html`<code>${cells.extra}</code>` : masked}</dd></div>`
  }</dl>`;
}

/** The cell of a company or round: its name, with the id small beside it. */
function namedCell(cells: Version['cells'], column: string): Html | null {
  const name = { company_id: cells.company_name, offering_id: cells.round_name }[column];
  const id = cells[column];
  return typeof name === 'string' && typeof id === 'string' ? named(name, id, '') : null;
}

function cellText(name: string, value: Cell, currency: string | null): Html | string {
  if (value === null) return '–';
  if (name.endsWith('_cents')) return money(Number(value), currency);
  if (name === 'blockers' || name === 'contracts') return listText(String(value), currency);
  if (isFlag(name)) return valueWords(name, value, currency);
  if (name === 'status') return statusWords(String(value));
  if (name === 'currency') return currencyCode(String(value)) || String(value);
  if (name.endsWith('_at')) return moment(String(value));
  if (name.endsWith('_id') || name.startsWith('converted')) return idText(String(value));
  return String(value);
}

/** Returns a JSON list of objects as lines of `name: value`; other JSON is shown as it is. */
function listText(json: string, currency: string | null): Html | string {
  if (json === '[]') return 'none';
  const items: unknown = JSON.parse(json);
  if (!Array.isArray(items)) return html`<code>${json}</code>`;
  return html`<ul class="items">${items.map(
    (item: unknown) => html`<li>${isObject(item) ? objectText(item, currency) : JSON.stringify(item)}</li>`,
  )}</ul>`;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const objectText = (item: Readonly<Record<string, unknown>>, currency: string | null): string =>
  Object.entries(item)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${columnLabel(name)}: ${valueWords(name, value, currency)}`)
    .join(' · ');

function person({ seen, identityUntil }: RecordShown): Html {
  const heading = html`<h2 id="person-title">Person</h2>`;
  if (identityUntil === null)
    return html`<section aria-labelledby="person-title">${heading}<p>${masked} No personal data was read.</p></section>`;
  const known = Object.entries(seen.person ?? {}).filter(([, value]) => value !== null);
  return html`<section aria-labelledby="person-title">${heading}${
    known.length === 0
      ? html`<p class="empty">No personal data is stored.</p>`
      : html`<dl class="columns">${known.map(([name, value]) => html`<div><dt>${columnLabel(name)}</dt><dd>${value}</dd></div>`)}</dl>`
  }</section>`;
}

/** Lists the versions, each with its differences from the one before. */
function history(versions: readonly Version[]): Html {
  return html`<ol class="versions">${versions.map((version, index) => {
    const before = versions[index + 1];
    const state = version.valid_to === null ? 'now' : endWords(version);
    return html`<li><p><strong>${moment(version.valid_from)}</strong> <span class="soft">${version.valid_to === null ? 'until now' : html`until ${moment(version.valid_to)}, ${state}`}</span></p>
${before === undefined ? html`<p class="soft">${statusWords(String(version.cells.status ?? ''))}: first version</p>` : differences(before, version)}</li>`;
  })}</ol>`;
}

function differences(before: Version, after: Version): Html {
  const named = Object.keys(after.cells).filter(
    (name) => !apart.has(name) && name !== 'observed_at' && before.cells[name] !== after.cells[name],
  );
  if (named.length === 0) return html`<p class="soft">no column changed</p>`;
  // An investment that moved to another round may have another currency.
  const [was, is] = [currencyOf(before), currencyOf(after)];
  return html`<ul class="differences">${named.map(
    (name) =>
      html`<li><span class="soft">${columnLabel(name)}</span> <del>${namedCell(before.cells, name) ?? cellText(name, before.cells[name] ?? null, was)}</del> <span class="becomes" role="img" aria-label="became"></span> <ins>${namedCell(after.cells, name) ?? cellText(name, after.cells[name] ?? null, is)}</ins></li>`,
  )}</ul>`;
}

const ends: Readonly<Record<string, string>> = {
  update: 'changed',
  tombstone: 'withdrawn',
  relist: 'missing from a new listing',
};

const endWords = ({ ended_by }: Version): string => ends[ended_by ?? ''] ?? 'ended';
