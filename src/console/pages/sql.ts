import { type Html, html } from '../../runtime/html.js';
import { type AsOf, asOfBanner, asOfField } from '../parts/as-of.js';
import { counted, duration } from '../parts/format.js';
import { identityBarOf } from '../parts/identity-bar.js';
import { csrfField } from '../parts/layout.js';
import { table } from '../parts/table.js';
import type { DashboardSource, QueryCell, QuerySeen } from '../ports/dashboard.js';
import { plotOf } from './plot.js';

export interface SqlShown {
  readonly sql: string;
  readonly name: string;
  readonly result: QuerySeen | null;
  readonly problem: { readonly message: string; readonly hint: string | undefined } | null;
  readonly queries: DashboardSource['queries'];
  readonly limits: DashboardSource['queryLimits'];
  readonly csrf: string;
  readonly identityUntil: number | null;
  readonly mayShowNames: boolean;
  /** The past time to read, as it was typed; empty for the present. */
  readonly asOf: string;
  /** The time it means; null for the present and for a time that cannot be read. */
  readonly past: AsOf | null;
  readonly now: number;
}

const formId = 'sql-form';

/** Returns the address of the page. It has no statement, which may contain a name. */
export function sqlPath(name: string, asOf: string): string {
  const query = new URLSearchParams();
  if (name !== '') query.set('query', name);
  if (asOf !== '') query.set('as-of', asOf);
  return query.size === 0 ? '/sql' : `/sql?${query}`;
}

export function sqlBody(shown: SqlShown): Html {
  const { sql, queries, limits, csrf, name, identityUntil, mayShowNames, asOf, past } = shown;
  return html`<div class="heading"><h1>SQL</h1>${identityBarOf(formId, identityUntil, mayShowNames)}</div>
${past === null ? null : asOfBanner(past, sqlPath(name, ''), shown.result?.younger)}
<div class="beside">
<nav class="ready" aria-label="Ready queries"><h2>Ready queries</h2><ul>${queries.map(
    (one) =>
      html`<li><a href="${sqlPath(one.name, asOf)}"${one.name === name ? html` aria-current="true"` : null}>${one.question}${one.identity ? html` <span class="tag">names</span>` : null}</a></li>`,
  )}</ul></nav>
<div>
<form class="sql" id="${formId}" method="post" action="${sqlPath('', asOf)}">${csrfField(csrf)}
<label for="sql">One read-only statement. At most ${limits.seconds} seconds, ${counted(limits.rows, 'row')} and ${limits.megabytes} MB; a file takes up to ${counted(limits.fileRows, 'row')} and ${limits.fileMegabytes} MB.</label>
<textarea id="sql" name="sql" rows="10" maxlength="20000" spellcheck="false" autocapitalize="off" autocomplete="off" required${shown.problem === null ? null : html` aria-invalid="true" aria-describedby="problem"`}>
${sql}</textarea>
<p class="buttons"><button class="primary" name="do" value="run">Run</button> <button name="do" value="file">Download as CSV</button> ${asOfField(asOf, shown.now)} <span class="soft keys">Ctrl + Enter runs</span></p></form>
${shown.problem === null ? null : html`<div class="note wrong" id="problem" role="alert"><p>${shown.problem.message}</p>${shown.problem.hint === undefined ? null : html`<p class="soft">${shown.problem.hint}</p>`}</div>`}
${shown.result === null ? null : resultPart(shown.result)}
</div></div>`;
}

function resultPart(result: QuerySeen): Html {
  const numeric = result.columns.map((_, index) => isNumeric(result, index));
  return html`<section id="result" aria-labelledby="result-title"><h2 id="result-title">Result</h2>
<p class="soft" role="status">${counted(result.rows.length, 'row')} in ${duration(result.tookMs)}${result.truncated ? html`, <strong>more rows are not shown</strong>` : null}</p>
${plotOf(result)}
${table(
  'Result',
  result.columns.map((title, index) => ({ title, number: numeric[index] ?? false })),
  result.rows.map((row) => row.map(cellText)),
  'No rows.',
)}</section>`;
}

const isNumeric = ({ rows }: QuerySeen, index: number): boolean =>
  rows.length > 0 && rows.every((row) => row[index] === null || typeof row[index] === 'number');

function cellText(cell: QueryCell): Html | string {
  if (cell === null) return html`<span class="none">null</span>`;
  // SQLite's notation for a blob.
  if (cell instanceof Uint8Array) return `x'${Buffer.from(cell).toString('hex')}'`;
  return String(cell);
}
