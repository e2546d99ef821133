import { asOfTime, presentState } from '../../domain/as-of.js';
import type { Fault } from '../../domain/fault.js';
import type { Instant } from '../../domain/instant.js';
import { type Html, html } from '../../runtime/html.js';
import type { PastOverviewSeen } from '../ports/overview.js';
import { moment, zonedMoment } from './format.js';

/** A past time of a page: as its address has it, and the time that it means. */
export interface AsOf {
  readonly text: string;
  readonly at: Instant;
}

/** The date picker. A time of the address is shown as its day in UTC, of which a chosen day is the end. */
export function asOfField(asOf: string, now: number): Html {
  const day = asOfTime(asOf)?.slice(0, 10) ?? '';
  return html`<label>As of <input type="date" name="as-of" value="${day}" max="${new Date(now).toISOString().slice(0, 10)}"></label>`;
}

/** Says that a page shows a past state. `present`: the address of the page without it. */
export function asOfBanner(
  { text, at }: AsOf,
  present: string,
  younger: PastOverviewSeen['younger'] = [],
): Html {
  const time =
    at === presentState ? html`${text}, a day that is not over: the present state` : zonedMoment(at);
  return html`<div class="note past" role="status"><p><strong>As of ${time}.</strong> <a href="${present}">Back to now</a></p>
<p class="soft">What this mirror showed then: companies and rounds have the names of then. Names of people, where they are shown, are the ones stored now.${younger.map(
    ({ source, from }) => html` ${source} is not included: its history begins at ${moment(from)}.`,
  )}</p></div>`;
}

/** Says why a past time cannot be shown. */
export const asOfProblem = ({ message, about }: Fault, present: string): Html =>
  html`<div class="note wrong" role="alert"><p>${message}</p><p class="soft">${about.hint ?? ''} <a href="${present}">Back to now</a></p></div>`;
