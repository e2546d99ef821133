import { type Html, html } from '../../runtime/html.js';

/** On a narrow screen each row becomes a list of labelled cells. ARIA roles keep it a table for screen readers. */
export function table(heads: readonly string[], rows: readonly (readonly Html[])[]): Html {
  if (rows.length === 0) return html`<p class="soft">None yet.</p>`;
  const cell = (content: Html, column: number) =>
    html`<td role="cell" data-head="${heads[column] ?? ''}">${content}</td>`;
  return html`<div class="scroll" role="region" aria-label="${heads.join(', ')}" tabindex="0"><table class="stacked" role="table"><thead role="rowgroup"><tr role="row">${heads.map((head) => html`<th scope="col" role="columnheader">${head}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map((cells) => html`<tr role="row">${cells.map(cell)}</tr>`)}</tbody></table></div>`;
}
