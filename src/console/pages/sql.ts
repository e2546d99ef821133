import { type Html, html } from '../../runtime/html.js';
import { type AsOf, asOfBanner, asOfField } from '../parts/as-of.js';
import { counted, currencyCode, duration, money } from '../parts/format.js';
import { identityBarOf } from '../parts/identity-bar.js';
import { csrfField } from '../parts/layout.js';
import { type Cell, table } from '../parts/table.js';
import type { DashboardSource } from '../ports/dashboard.js';
import type { QueryCell, QuerySeen, RelationSeen } from '../ports/query.js';
import { type PlotChoice, plotChoices, plotOf } from './plot.js';
import { queryNumber } from './query-number.js';

export interface SqlProblem {
  readonly message: string;
  readonly hint: string | undefined;
  /** The part of the statement that is wrong, in characters from its beginning. */
  readonly place: { readonly from: number; readonly length: number } | null;
}

export interface SqlShown {
  readonly sql: string;
  readonly name: string;
  readonly chart: PlotChoice;
  readonly result: QuerySeen | null;
  readonly problem: SqlProblem | null;
  readonly source: Pick<DashboardSource, 'queries' | 'queryLimits' | 'relations' | 'sqlDialect'>;
  readonly csrf: string;
  /** Whose saved queries the browser shows. */
  readonly actor: string;
  readonly identityUntil: number | null;
  readonly mayShowNames: boolean;
  /** The past time to read, as it was typed; empty for the present. */
  readonly asOf: string;
  /** The time it means; null for the present and for a time that cannot be read. */
  readonly past: AsOf | null;
  readonly now: number;
}

const formId = 'sql-form';
const sqlCharactersMax = 20_000;

/** Returns the address of the page. It has no statement, which may contain a name. */
function sqlPath(name: string, asOf: string): string {
  const query = new URLSearchParams();
  if (name !== '') query.set('query', name);
  if (asOf !== '') query.set('as-of', asOf);
  return query.size === 0 ? '/sql' : `/sql?${query}`;
}

export function sqlBody(shown: SqlShown): Html {
  const { sql, source, csrf, name, identityUntil, mayShowNames, asOf, past, problem } = shown;
  const { seconds, rows, megabytes, fileRows, fileMegabytes } = source.queryLimits;
  return html`<div class="heading"><h1>SQL</h1>${identityBarOf(formId, identityUntil, mayShowNames)}</div>
${past === null ? null : asOfBanner(past, sqlPath(name, ''), shown.result?.younger)}
<div class="beside" data-sql-page data-actor="${shown.actor}" data-dialect="${source.sqlDialect}">
<div class="ready">${readyQueries(shown)}${ownQueries()}${relations(source.relations)}</div>
<div>
<form class="sql" id="${formId}" method="post" action="${sqlPath('', asOf)}">${csrfField(csrf)}
<label for="sql-text">One read-only statement. At most ${seconds} seconds, ${counted(rows, 'row')} and ${megabytes} MB; a file takes up to ${counted(fileRows, 'row')} and ${fileMegabytes} MB.</label>
<div id="sql" class="editor" hidden></div>
<textarea id="sql-text" name="sql" rows="10" maxlength="${sqlCharactersMax}" spellcheck="false" autocapitalize="off" autocomplete="off"${problem === null ? null : html` aria-invalid="true" aria-describedby="problem"`}>
${sql}</textarea>
<p class="buttons"><button class="primary" name="do" value="run">Run</button> ${chartField(shown.chart)} ${asOfField(asOf, shown.now)} <span class="soft keys">Ctrl + Enter runs, Ctrl + Space completes</span></p>
<p class="buttons" data-download><span class="soft">Download</span> <button name="do" value="csv">CSV</button> <button name="do" value="jsonl">JSON Lines</button> <button name="do" value="parquet">Parquet</button> <button name="do" value="xlsx">Excel</button> <button type="button" id="copy-link" hidden data-needs-script>Copy link</button></p></form>
<p class="sql-link" hidden><label for="link">Link to this statement</label><input id="link" readonly></p>
<p class="soft" id="said" role="status"></p>
${problem === null ? null : problemPart(problem, sql)}
${shown.result === null ? null : resultPart(shown.result, shown.chart)}
</div></div>`;
}

const readyQueries = ({ source, name, asOf }: SqlShown): Html =>
  html`<nav aria-label="Ready queries"><details open><summary><h2>Ready queries</h2></summary><ul>${source.queries.map(
    (one) =>
      html`<li><a href="${sqlPath(one.name, asOf)}"${one.name === name ? html` aria-current="true"` : null}>${one.question}${one.identity ? html` <span class="tag">names</span>` : null}</a></li>`,
  )}</ul></details></nav>`;

/** Filled by the script: these queries never leave the browser. */
const ownQueries = (): Html =>
  html`<section hidden data-needs-script aria-labelledby="saved-title"><details open><summary><h2 id="saved-title">Your queries</h2></summary>
<p class="saving"><label for="save-name">Name</label> <input id="save-name" maxlength="80" autocomplete="off"> <button type="button" id="save">Save</button></p>
<ul id="saved"></ul><p class="soft">None yet. They stay in this browser.</p></details></section>
<section hidden data-needs-script aria-labelledby="history-title"><details><summary><h2 id="history-title">History</h2></summary>
<ul id="history"></ul><p class="soft">Nothing has run in this tab yet.</p></details></section>`;

const relations = (all: readonly RelationSeen[]): Html =>
  html`<section aria-labelledby="tables-title"><details><summary><h2 id="tables-title">Tables and columns</h2></summary>${all.map(
    ({ name, meaning, columns }) =>
      html`<details data-table="${name}"><summary><code>${name}</code></summary><p class="soft"><span data-meaning>${meaning}</span></p><dl>${columns.map(
        (column) =>
          html`<dt data-insert="${column.name}"><code>${column.name}</code> <span class="soft">${column.type}</span></dt><dd>${column.meaning}${column.null_when === null ? null : html` <span class="soft">Null ${column.null_when}</span>`}</dd>`,
      )}</dl></details>`,
  )}</details></section>`;

const chartField = (chosen: PlotChoice): Html =>
  html`<label>Chart <select id="chart" name="chart">${Object.entries(plotChoices).map(
    ([value, word]) =>
      html`<option value="${value}"${value === chosen ? html` selected` : null}>${word}</option>`,
  )}</select></label>`;

function problemPart({ message, hint, place }: SqlProblem, sql: string): Html {
  const data = place === null ? null : html` data-from="${place.from}" data-length="${place.length}"`;
  return html`<div class="note wrong" id="problem" role="alert"${data}><p>${message}${place === null ? null : html` <span class="soft">(${lineAndColumn(sql, place.from)})</span>`}</p>${hint === undefined ? null : html`<p class="soft">${hint}</p>`}</div>`;
}

function lineAndColumn(sql: string, from: number): string {
  const before = sql.slice(0, from).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

function resultPart(result: QuerySeen, chart: PlotChoice): Html {
  const amounts = result.columns.map((_, index) => isAmount(result, index));
  const numeric = result.columns.map((_, index) => isNumeric(result, index));
  return html`<section id="result" aria-labelledby="result-title"><h2 id="result-title">Result</h2>
<p class="soft" role="status">${counted(result.rows.length, 'row')} in ${duration(result.tookMs)}${result.truncated ? html`, <strong>more rows are not shown</strong>` : null}${amounts.includes(true) ? '. Columns of cents are shown as money; files have the cents' : null}</p>
${plotOf(result, chart)}
${table(
  'Result',
  result.columns.map((title, index) => ({ title, number: numeric[index] ?? false })),
  result.rows.map((row) =>
    row.map((cell, index) =>
      amounts[index] === true ? amountOf(cell, currencyOf(result, row)) : cellText(cell),
    ),
  ),
  'No rows.',
)}</section>`;
}

const isNumeric = ({ rows }: QuerySeen, index: number): boolean =>
  rows.length > 0 && rows.every((row) => row[index] === null || queryNumber(row[index]) !== null);

/** A column of the documented kind: cents, in the currency of its row. */
const isAmount = (result: QuerySeen, index: number): boolean =>
  result.columns[index]?.endsWith('_cents') === true &&
  result.rows.every((row) => row[index] === null || queryNumber(row[index]) !== null);

/** Returns the currency of a row; null without a column of currencies. */
function currencyOf({ columns }: QuerySeen, row: QuerySeen['rows'][number]): string | null {
  const cell = row[columns.indexOf('currency')];
  return typeof cell === 'string' ? cell : null;
}

/** The exact cents stay on the cell, for a pointer and for programs. */
function amountOf(cell: QueryCell, currency: string | null): Cell | Html | string {
  const cents = queryNumber(cell);
  if (cents === null) return cellText(cell);
  const code = currencyCode(currency);
  const title = `${cell} cents${code === '' ? '' : ` ${code}`}`;
  return { shown: html`<span title="${title}">${money(cents, currency)}</span>`, value: String(cell) };
}

function cellText(cell: QueryCell): Html | string {
  if (cell === null) return html`<span class="none">null</span>`;
  // SQLite's notation for a blob.
  if (cell instanceof Uint8Array) return `x'${Buffer.from(cell).toString('hex')}'`;
  return String(cell);
}
