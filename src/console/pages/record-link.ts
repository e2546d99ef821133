import { type Html, html } from '../../runtime/html.js';

export const recordPath = (source: string, id: string): string =>
  `/records/${encodeURIComponent(source)}/${encodeURIComponent(id)}`;

export const recordLink = (source: string, id: string): Html =>
  html`<a href="${recordPath(source, id)}"><code>${id}</code></a>`;
