import { type Html, html } from '../../runtime/html.js';
import { age } from './format.js';

/** Says how old the page is; the script says instead whether the page updates itself. */
export const liveState = (at: string, now: number): Html =>
  html`<p class="soft live" data-live-state role="status">As of ${age(at, now)}</p>`;
