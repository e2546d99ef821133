import { type Html, html } from '../../runtime/html.js';
import { idText } from './id.js';

/** Returns the name of a company or round with its id small beside it; the id alone while it has no name. */
export function named(name: string | null, id: string | null, nothing: string, path?: string): Html {
  if (id === null) {
    const words = html`<span class="none">${nothing}</span>`;
    return path === undefined ? words : html`<a href="${path}">${words}</a>`;
  }
  if (name === null) return idText(id, path);
  const title = path === undefined ? html`${name}` : html`<a href="${path}">${name}</a>`;
  return html`<span class="named">${title}${idText(id)}</span>`;
}
