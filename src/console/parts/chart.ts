import { type Html, html } from '../../runtime/html.js';
import { type Cells, type Column, table } from './table.js';

export interface Chart {
  readonly id: string;
  readonly title: string;
  readonly kind: 'line' | 'bars';
  /** A currency, or empty for plain numbers. */
  readonly unit: string;
  readonly note?: string;
  /** What it says, for whoever does not see it. */
  readonly summary: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Cells[];
  readonly empty: string;
}

/**
 * A chart is its table: the script draws from the cells, so the two cannot disagree, and without the script the
 * table is what there is. It is open until the script has drawn and folds it.
 */
export function chart({ id, title, kind, unit, note, summary, columns, rows, empty }: Chart): Html {
  const heading = html`<h2 id="${id}-title">${title}</h2>${note === undefined ? null : html`<p class="soft">${note}</p>`}`;
  if (rows.length === 0) return html`<section>${heading}<p class="empty">${empty}</p></section>`;
  return html`<section aria-labelledby="${id}-title">${heading}
<div class="chart" data-chart="${kind}" data-unit="${unit}">
<div class="plot" role="img" aria-label="${title}. ${summary} The table below holds every number."></div>
<p class="readout" aria-hidden="true"></p>
<details open><summary>The numbers</summary>${table(`${title}, the numbers`, columns, rows, empty)}</details>
</div></section>`;
}
