import { type Html, html } from '../../runtime/html.js';
import { clockTime } from './format.js';
import { csrfField } from './layout.js';

export const masked = html`<span class="masked"><span aria-hidden="true">•••••</span><span class="unseen">masked</span></span>`;

/** The form that shows names on request, in this browser only and for a limited time, or masks them again. */
export function identityBar(csrf: string, until: number | null, to: string, allowed: boolean): Html {
  if (!allowed) return notAllowed;
  return html`<form class="identity" method="post" action="/identity">${csrfField(csrf)}<input type="hidden" name="to" value="${to}">
${identityState(until)}
<button name="do" value="${identityAction(until)}">${identityWords(until)}</button></form>`;
}

/** The same with a button of the form `form`, so that what was typed there is sent along and shown again. */
export function identityBarOf(form: string, until: number | null, allowed: boolean): Html {
  if (!allowed) return notAllowed;
  return html`<div class="identity">${identityState(until)}
<button form="${form}" name="do" value="${identityAction(until)}" formnovalidate>${identityWords(until)}</button></div>`;
}

const notAllowed = html`<p class="identity">Names and emails are masked. Your role does not show them.</p>`;

const identityAction = (until: number | null): 'show' | 'mask' => (until === null ? 'show' : 'mask');
const identityWords = (until: number | null): string =>
  until === null ? 'Show for 15 minutes' : 'Mask again';

function identityState(until: number | null): Html {
  if (until === null) return html`<span>Names and emails are masked.</span>`;
  return html`<span><strong>Names and emails are shown</strong> in this browser until ${clockTime(new Date(until).toISOString())}.</span>`;
}
