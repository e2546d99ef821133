import { type Html, html } from '../../runtime/html.js';
import { csrfField } from './layout.js';

export const masked = html`<span class="masked"><span aria-hidden="true">•••••</span><span class="unseen">masked</span></span>`;

/** The form that shows names on request, in this browser only and for a limited time, or masks them again. */
export function identityBar(csrf: string, until: number | null, to: string): Html {
  const action = until === null ? 'show' : 'mask';
  return html`<form class="identity" method="post" action="/identity">${csrfField(csrf)}<input type="hidden" name="to" value="${to}">
<span>${until === null ? 'Names and emails are masked.' : html`<strong>Names and emails are shown</strong> in this browser until ${new Date(until).toISOString().slice(11, 16)}.`}</span>
<button name="do" value="${action}">${until === null ? 'Show for 15 minutes' : 'Mask again'}</button></form>`;
}
