import { Html, html } from '../../runtime/html.js';

export interface Column {
  readonly title: string | Html;
  /** Aligns numbers by their digits. */
  readonly number?: boolean;
  readonly sort?: 'ascending' | 'descending' | 'none';
  /** Marks the column as a series of the chart. */
  readonly series?: string;
}

export interface Cell {
  readonly shown: string | number | Html;
  /** The exact value for the chart. */
  readonly value?: string | number;
  /** What the legend of the chart shows, if not `shown`. */
  readonly words?: string;
}

export type Cells = readonly (string | number | Html | Cell)[];

/**
 * Returns a table in its own scrollable box, so that the page never scrolls sideways. The box is focusable, so that it
 * can be scrolled with the keyboard; it is no landmark, because the section around it is one.
 */
export function table(
  label: string,
  columns: readonly Column[],
  rows: readonly Cells[],
  empty: string,
  narrow?: 'lines' | 'week',
): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  if (narrow !== undefined) return stacked(narrow, label, columns, rows);
  return html`<div class="scroll" role="group" aria-label="${label}" tabindex="0"><table>
<caption class="unseen">${label}</caption>
<thead><tr>${columns.map(heading)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map((cell, index) => written(cell, columns[index], index === 0))}</tr>`)}</tbody>
</table></div>`;
}

/**
 * Returns a table whose rows become blocks on a narrow screen. Its roles are named, because some browsers drop them
 * from cells that are no longer shown as a table.
 */
function stacked(
  narrow: 'lines' | 'week',
  label: string,
  columns: readonly Column[],
  rows: readonly Cells[],
): Html {
  const roles = ({ text }: Html) =>
    new Html(
      text
        .replace('<th scope="row"', '<th role="rowheader" scope="row"')
        .replace('<th scope="col"', '<th role="columnheader" scope="col"')
        .replace(/^<td/, '<td role="cell"'),
    );
  return html`<div class="scroll" role="group" aria-label="${label}" tabindex="0"><table class="${narrow}" role="table">
<caption class="unseen">${label}</caption>
<thead role="rowgroup"><tr role="row">${columns.map((column) => roles(heading(column)))}</tr></thead>
<tbody role="rowgroup">${rows.map((cells) => html`<tr role="row">${cells.map((cell, index) => roles(written(cell, columns[index], index === 0)))}</tr>`)}</tbody>
</table></div>`;
}

function heading({ title, number, sort, series }: Column): Html {
  return html`<th scope="col"${number === true ? html` class="number"` : null}${sort === undefined ? null : html` aria-sort="${sort}"`}${series === undefined ? null : html` data-series="${series}"`}>${title}</th>`;
}

function written(cell: Cells[number], column: Column | undefined, first: boolean): Html {
  const { shown, value, words }: Cell = isCell(cell) ? cell : { shown: cell };
  const named = words === undefined ? null : html` data-words="${words}"`;
  const data = value === undefined ? null : html` data-value="${value}"${named}`;
  const kind = column?.number === true ? html` class="number"` : isProse(shown) ? html` class="prose"` : null;
  return first ? html`<th scope="row"${kind}${data}>${shown}</th>` : html`<td${kind}${data}>${shown}</td>`;
}

/** Returns whether a text is long enough to wrap; shorter text stays on one line, so that rows keep their height. */
const isProse = (shown: Cell['shown']): boolean =>
  typeof shown === 'string' && (shown.length > 60 || shown.includes('\n'));

function isCell(cell: Cells[number]): cell is Cell {
  return typeof cell === 'object' && 'shown' in cell;
}

/** Shows a share of a total: a bar and its percentage, so that a full bar means all of it. */
export function share(value: number, total: number): Html {
  const percent = total > 0 ? (100 * value) / total : 0;
  return html`<span class="share">${bar(value, total)}<span>${percent.toFixed(1)} %</span></span>`;
}

/** Draws a share of the largest value as an SVG bar: the content security policy forbids inline styles. */
export function bar(value: number, largest: number): Html {
  const width = largest > 0 ? Math.max(0, Math.min(100, (100 * value) / largest)) : 0;
  return html`<svg class="bar" width="100%" height="8" aria-hidden="true" focusable="false"><rect width="${width.toFixed(2)}%" height="8" rx="2"/></svg>`;
}
