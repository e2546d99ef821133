import { type Html, html } from '../../runtime/html.js';
import { statusWords } from './columns.js';

/** Returns how a tick ended, with its error code if it has one. */
export function tickOutcome(word: string, code: string | null): Html {
  const state = word === 'done' ? 'ok' : word === 'failed' ? 'failing' : 'working';
  return html`<span class="state" data-state="${state}">${code === null ? word : `${word}: ${statusWords(code)}`}</span>`;
}
