import { type Html, html } from '../../runtime/html.js';
import { age, clockTime, count, counted } from '../parts/format.js';
import type { SourceSeen } from '../ports/activity.js';
import type { SpacingSeen } from '../ports.js';
import { sourcePath } from './sources-address.js';

/** The health of a source in words. */
export const healthWords = {
  ok: 'Up to date',
  working: 'Catching up',
  failing: 'Retrying',
  attention: 'Needs a person',
} as const;

const feedDays = 90;

/** Returns the card of one source: its state in words, then its figures. */
export function sourceCard(source: SourceSeen, now: number): Html {
  const title = `source-${source.source}`;
  return html`<article class="card" aria-labelledby="${title}">
<header><h3 id="${title}"><a href="${sourcePath(source.source)}">${source.source}</a></h3>
<span class="state" data-state="${source.health}">${source.paused_at === null ? healthWords[source.health] : 'Paused'}</span></header>
${sourceState(source, now)}</article>`;
}

/** Returns the state of a source in words, and its figures. */
export function sourceState(source: SourceSeen, now: number): Html {
  return html`${source.followed ? html`<p>${sentence(source.meaning)}</p>` : null}
${source.concerns.map(({ text }) => html`<p class="note wrong">${sentence(text)}</p>`)}
${waiting(source, now)}${progress(source, now)}${awaiting(source)}${names(source)}${trouble(source, now)}
<dl class="facts">
${fact('Complete up to', age(source.complete_up_to, now))}
${fact('Investments', count(source.rows))}
${fact('Last tick', age(source.last_tick_at, now))}
${fact('Cursor', cursor(source, now))}
${fact('Requests left this hour', quota(source, now))}
${fact('Webhooks', webhooks(source, now))}
${source.quarantine_open > 0 ? fact('Quarantined', html`<a href="/operations#quarantine" class="wrong">${count(source.quarantine_open)}</a>`) : null}
${source.identity_included === 0 ? fact('Identity', 'not included: at the last check the token could not read it, or the configuration drops it') : null}
</dl>`;
}

export const fact = (name: string, value: Html | string): Html =>
  html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

export const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function waiting({ retry_at, last_error_code }: SourceSeen, now: number): Html | null {
  if (retry_at === null || Date.parse(retry_at) <= now) return null;
  const why =
    last_error_code === 'rate_limited' ? 'The hourly request quota is used up: continues' : 'Next attempt';
  return html`<p class="note">${why} at ${clockTime(retry_at)}, ${age(retry_at, now)}.</p>`;
}

/** Shows how far a listing is, with a progress bar if it is known how many records there are. */
function progress({ listing, ...source }: SourceSeen, now: number): Html | null {
  if (source.listing_started_at === null || listing === null) return null;
  const { rows_incoming: rows, pages_incoming: pages } = source;
  const sofar = html`${sentence(listing.text)} ${counted(pages, 'page')} since ${age(source.listing_started_at, now)}`;
  const { rows_expected: expected } = listing;
  if (expected === null || expected === 0) return html`<p class="progress">${sofar}</p>`;
  return html`<p class="progress"><label>${sofar} <progress max="${Math.max(expected, rows)}" value="${rows}"></progress></label></p>`;
}

function awaiting({ source, awaiting_deletion: rows }: SourceSeen): Html | null {
  if (rows === 0) return null;
  return html`<p class="note wrong">${counted(rows, 'row')} missing from the last listing ${rows === 1 ? 'awaits' : 'await'} deletion; everything else is published. To delete: <code>rosterd sync --source ${source} --accept-deletions</code></p>`;
}

const names = ({ names_note }: SourceSeen): Html | null =>
  names_note === null ? null : html`<p class="note">${sentence(names_note)}</p>`;

function trouble(
  { health, last_error, last_error_at, last_error_code }: SourceSeen,
  now: number,
): Html | null {
  // Waiting for the request quota is not an error, and `waiting` shows it.
  if (last_error === null || health === 'ok' || last_error_code === 'rate_limited') return null;
  const since = last_error_at === null ? null : html` <span class="soft">${age(last_error_at, now)}</span>`;
  return html`<p class="note wrong">${last_error}${since}</p>`;
}

function cursor(
  { cursor_age_seconds, cursor_days_left, cursor_old, cursor_saved_at }: SourceSeen,
  now: number,
): Html | string {
  if (cursor_age_seconds === null || cursor_days_left === null) return 'none yet';
  const left =
    cursor_days_left < 0
      ? 'may have expired'
      : `${counted(Math.min(cursor_days_left, feedDays), 'day')} of ${feedDays} left`;
  return html`${age(cursor_saved_at, now)}, <span${cursor_old ? html` class="wrong"` : null}>${left}</span>`;
}

function webhooks({ webhook_spacing: spacing }: SourceSeen, now: number): Html | string {
  if (spacing === null) return 'not followed by this daemon';
  const { reason, gap_seconds, wait_seconds, quota } = spacing;
  switch (reason) {
    case 'plenty':
      return 'read at once';
    case 'scarce':
      return html`read every ${duration(gap_seconds)}: the quota${ofAddress(spacing)} has to last until it resets ${age(quota?.resets_at ?? null, now)}${sharers(spacing)}`;
    case 'spent':
      return html`wait ${duration(wait_seconds)}: the quota${ofAddress(spacing)} is used up`;
    case 'backing_off':
      return html`wait ${duration(wait_seconds)}: the last tick failed`;
    case 'halted':
      return 'retry once an hour until a person acts';
  }
}

/** Says that several sources divide what is left, if they do. */
function sharers({ quota }: SpacingSeen): string {
  if (quota === null || quota.shared_by < 2) return '';
  const away = quota.shared_elsewhere === 0 ? '' : `, ${quota.shared_elsewhere} of them on other hosts`;
  return `, for ${quota.shared_by} sources with webhooks${away}`;
}

const ofAddress = ({ quota }: SpacingSeen): string => (quota?.of === 'address' ? ' of this address' : '');

/** Returns a duration to the second, below a minute to the tenth. */
function duration(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds * 10) / 10} s`;
  return `${Math.floor(seconds / 60)} min ${Math.ceil(seconds % 60)} s`;
}

function quota({ quota }: SourceSeen, now: number): Html | string {
  if (quota === null) return 'not tracked';
  return html`${count(quota.left)} of ${count(quota.limit)}, resets ${age(quota.resets_at, now)}`;
}
