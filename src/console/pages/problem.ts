import { type Html, html } from '../../runtime/html.js';

/** A page that says why there is nothing else on it. */
export const problemBody = (title: string, why: string, hint?: string): Html =>
  html`<h1>${title}</h1><p>${why}</p>${hint === undefined ? null : html`<p class="soft">${hint}</p>`}`;
