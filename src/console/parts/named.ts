import { type Html, html } from '../../runtime/html.js';

/** Returns the name of a company or round with its id small beside it; the id alone while it has no name. */
export function named(name: string | null, id: string | null, nothing: string): Html {
  if (id === null) return html`<span class="none">${nothing}</span>`;
  if (name === null) return html`<code>${id}</code>`;
  return html`<span class="named">${name}<code class="soft">${id}</code></span>`;
}
