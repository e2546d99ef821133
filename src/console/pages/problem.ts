import { type Html, html } from '../../runtime/html.js';

/** Returns a page with an error message. */
export const problemBody = (title: string, why: string, hint?: string): Html =>
  html`<h1>${title}</h1><p>${why}</p>${hint === undefined ? null : html`<p class="soft">${hint}</p>`}`;
