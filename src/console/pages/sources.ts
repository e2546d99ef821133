import { type OverallState, overallStates } from '../../domain/overall-state.js';
import { type Html, html } from '../../runtime/html.js';
import { age, count, counted } from '../parts/format.js';
import { named } from '../parts/named.js';
import { table } from '../parts/table.js';
import type { SourceRowSeen, SourcesSeen } from '../ports/sources.js';
import { type SourcesAddress, sourcePath, sourcesPath } from './sources-address.js';

/** The states as the command line names them, so that a reader finds the same word there. */
const stateWord = (state: OverallState): string => `${state.charAt(0).toUpperCase()}${state.slice(1)}`;

/** The colour and the shape of a state. */
const looks: Readonly<Record<OverallState, string>> = {
  halted: 'attention',
  failing: 'failing',
  stale: 'failing',
  attention: 'attention',
  waiting: 'working',
  paused: 'none',
  disconnected: 'none',
  fine: 'ok',
  erased: 'none',
};

export const stateBadge = (state: OverallState): Html =>
  html`<span class="state" data-state="${looks[state]}">${stateWord(state)}</span>`;

export interface SourcesShown {
  readonly address: SourcesAddress;
  readonly seen: SourcesSeen;
}

/** Returns the page of all sources: how many are in each state, and a list, the worst first. */
export function sourcesBody({ address, seen }: SourcesShown): Html {
  const now = Date.parse(seen.at);
  return html`<div class="heading"><h1>Sources</h1></div>
${find(address, seen)}${states(address, seen)}
<p class="soft" role="status">${howMany(address, seen)}</p>
${table(
  'Sources, the worst first',
  [
    ...[{ title: 'Source' }, { title: 'State' }, { title: 'Company' }, { title: 'Rows', number: true }],
    ...[{ title: 'Complete up to' }, { title: 'Last tick' }, { title: 'Why' }],
  ],
  seen.sources.map((one) => [
    html`<a href="${sourcePath(one.source)}">${one.source}</a>`,
    stateBadge(one.overall),
    named(one.company_name, one.company_id, '–'),
    ...[count(one.rows), age(one.complete_up_to, now), age(one.last_tick_at, now), whyOf(one)],
  ]),
  seen.sources_total === 0
    ? 'No source is mirrored yet.'
    : 'No source matches. Choose another state, or clear the search.',
)}
${paging(address, seen)}`;
}

/** Returns why a source is in its state; a dash when there is nothing to say. */
function whyOf({ overall, last_error, meaning, concerns }: SourceRowSeen): string {
  const [concern] = concerns;
  if (overall === 'fine' || overall === 'erased') return concern?.text ?? '–';
  if ((overall === 'halted' || overall === 'failing') && last_error !== null) return last_error;
  return concern?.text ?? last_error ?? meaning;
}

function find({ search, state, rule }: SourcesAddress, { rules }: SourcesSeen): Html {
  return html`<form class="find" method="get" action="/sources" role="search">
${state === null ? null : html`<input type="hidden" name="state" value="${state}">`}
<label for="find">Find</label><input id="find" name="search" type="search" maxlength="200" autocomplete="off" value="${search}" placeholder="a name, a company or an id">
${rules.length === 0 ? null : html`<label for="rule">Rule</label><select id="rule" name="rule"><option value="">all</option>${rules.map((one) => html`<option value="${one}"${one === rule ? html` selected` : null}>${one}</option>`)}</select>`}
<button>Find</button>${search === '' && rule === null ? null : html` <a class="button" href="${sourcesPath({ search: '', rule: null, state, page: 1 })}">Clear</a>`}</form>`;
}

/** Links that select a state, each with its number. A state without a source is left out, unless it is selected. */
function states(address: SourcesAddress, { by_state }: SourcesSeen): Html {
  const link = (state: OverallState | null, word: string, many: number) =>
    html`<li><a href="${sourcesPath(address, { state, page: 1 })}"${state === address.state ? html` aria-current="true"` : null}${state === null ? null : html` data-state="${looks[state]}"`}>${word} <span class="number">${count(many)}</span></a></li>`;
  const all = overallStates.reduce((sum, state) => sum + by_state[state], 0);
  return html`<nav aria-label="States of sources"><ul class="states">${link(null, 'All', all)}${overallStates
    .filter((state) => by_state[state] > 0 || state === address.state)
    .map((state) => link(state, stateWord(state), by_state[state]))}</ul></nav>`;
}

function howMany(
  { search, state, rule }: SourcesAddress,
  { matching, sources_total, page, pages }: SourcesSeen,
): string {
  const narrowed = search !== '' || state !== null || rule !== null;
  const all = counted(sources_total, 'source');
  const found = narrowed ? `${count(matching)} of ${all}` : all;
  return pages > 1 ? `${found}, page ${count(page)} of ${count(pages)}` : found;
}

function paging(address: SourcesAddress, { page, pages }: SourcesSeen): Html | null {
  if (pages < 2) return null;
  const link = (to: number, word: string, rel: string) =>
    html`<a class="button" rel="${rel}" href="${sourcesPath(address, { page: to })}">${word}</a>`;
  return html`<nav class="paging" aria-label="Pages of the sources">
${page > 1 ? link(1, 'First page', 'first') : null}
${page > 1 ? link(page - 1, 'Previous page', 'prev') : null}
${page < pages ? link(page + 1, 'Next page', 'next') : html`<span class="soft">End of the list.</span>`}</nav>`;
}
