import { type Html, html } from '../../runtime/html.js';

/**
 * Returns an id. Tables cut a long one short by the style sheet only, so that searching the page finds it. The script
 * adds a button that copies it.
 */
export const idText = (id: string, path?: string): Html =>
  html`<span class="id" data-id="${id}">${path === undefined ? code(id) : html`<a href="${path}">${code(id)}</a>`}</span>`;

const code = (id: string): Html => html`<code title="${id}">${id}</code>`;
