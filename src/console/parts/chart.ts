import { type Html, html } from '../../runtime/html.js';
import { type Cells, type Column, table } from './table.js';

export interface Chart {
  readonly id: string;
  readonly title: string;
  readonly kind: 'line' | 'bars';
  /** A currency, or empty for plain numbers. */
  readonly unit: string;
  readonly note?: string;
  /** A text alternative for screen readers. */
  readonly summary: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Cells[];
  readonly empty: string;
}

/**
 * Returns a chart as a table: the script draws from its cells, so the two always agree. Without the script the table is
 * shown; the script folds it after drawing.
 */
export function chart({ id, title, kind, unit, note, summary, columns, rows, empty }: Chart): Html {
  const heading = html`<h2 id="${id}-title">${title}</h2>${note === undefined ? null : html`<p class="soft">${note}</p>`}`;
  if (rows.length === 0) return html`<section>${heading}<p class="empty">${empty}</p></section>`;
  return html`<section aria-labelledby="${id}-title">${heading}
<div class="chart" data-chart="${kind}" data-unit="${unit}">
<div class="plot" role="img" aria-label="${title}. ${summary} The table below has every number."></div>
<p class="readout" aria-hidden="true"></p>
<details open><summary>The numbers</summary>${table(`${title}, the numbers`, columns, rows, empty)}</details>
</div></section>`;
}
