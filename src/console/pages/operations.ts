import { type Html, html } from '../../runtime/html.js';
import { statusWords } from '../parts/columns.js';
import { age, count, duration, moment } from '../parts/format.js';
import { idText } from '../parts/id.js';
import { liveState } from '../parts/live-state.js';
import { processProblems } from '../parts/process-problems.js';
import { table } from '../parts/table.js';
import { tickOutcome } from '../parts/tick-outcome.js';
import type { ActivitySeen, DeliverySeen, OperationsSeen } from '../ports/activity.js';
import { recordLink } from './record-link.js';
import { sourceCard } from './source-card.js';

/** Returns the page of operators. Its live part is sent again whenever something changes. */
export function operationsBody(seen: OperationsSeen): Html {
  const now = Date.parse(seen.at);
  return html`<div class="heading"><h1>Operations</h1>${liveState(seen.at, now)}</div>
<div id="live" data-events="/operations/events">${operationsParts(seen)}</div>`;
}

export function operationsParts(seen: OperationsSeen): Html {
  const now = Date.parse(seen.at);
  return html`${processProblems(seen, now)}<section id="sources" aria-labelledby="sources-title"><h2 id="sources-title">Sources</h2>
${seen.sources.length === 0 ? html`<p class="empty">No source is mirrored yet: the first tick has not started.</p>` : html`<div class="cards">${seen.sources.map((source) => sourceCard(source, now))}</div>`}
${manySources(seen)}</section>
${figures(seen, now)}
${activity(seen.activity, now)}`;
}

/** With many sources, the page has the cards of the worst. */
function manySources({ counts, sources }: OperationsSeen): Html | null {
  if (counts.sources <= sources.length) return null;
  return html`<p>These are the ${count(sources.length)} worst. <a href="/sources">All ${count(counts.sources)} sources</a></p>`;
}

function figures({ inbox, notices, alerts, erasures, change_seq }: OperationsSeen, now: number): Html {
  const figure = (name: string, value: Html | string, note: Html | string, wrong = false) =>
    html`<div class="figure"${wrong ? html` data-wrong` : null}><dt>${name}</dt><dd><strong>${value}</strong><span class="soft">${note}</span></dd></div>`;
  const waits = (oldest: string | null) =>
    oldest === null ? 'queue is empty' : html`oldest: ${age(oldest, now)}`;
  const lost = (many: number) => html`<span class="wrong">${count(many)} given up</span>`;
  return html`<section id="figures" aria-labelledby="figures-title"><h2 id="figures-title">Waiting</h2><dl class="figures">
${figure('Webhooks', count(inbox.pending), inbox.given_up > 0 ? lost(inbox.given_up) : waits(inbox.oldest_at), inbox.given_up > 0)}
${figure('Notices', count(notices.pending), notices.given_up > 0 ? lost(notices.given_up) : waits(notices.oldest_at), notices.given_up > 0)}
${alerts.pending + alerts.given_up > 0 ? figure('Alerts', count(alerts.pending), alerts.given_up > 0 ? lost(alerts.given_up) : waits(alerts.oldest_at), alerts.given_up > 0) : null}
${figure('Erasures', count(erasures.pending), erasures.since === null ? (erasures.residue ? 'deleted rows still to be scrubbed' : 'everything is scrubbed') : html`oldest: ${age(erasures.since, now)}`)}
${figure('Newest change', `#${count(change_seq)}`, 'number of the last commit')}
</dl></section>`;
}

function activity({ ticks, deliveries, quarantine, notices, erasures }: ActivitySeen, now: number): Html {
  return html`<section id="ticks" aria-labelledby="ticks-title"><h2 id="ticks-title">Recent ticks</h2>
${table(
  'Recent ticks',
  [
    ...[{ title: 'Source' }, { title: 'Started' }, { title: 'Trigger' }, { title: 'Mode' }],
    ...['Pages', 'Added', 'Changed', 'Removed', 'Took'].map((title) => ({ title, number: true })),
    { title: 'Outcome' },
  ],
  ticks.map((tick) => [
    ...[tick.source, age(tick.started_at, now), tick.trigger, tick.mode, count(tick.pages)],
    ...[count(tick.added), count(tick.changed), count(tick.removed), duration(tick.took_ms)],
    tickOutcome(tick.outcome, tick.code),
  ]),
  'No tick has ended yet.',
)}</section>
<section id="deliveries" aria-labelledby="deliveries-title"><h2 id="deliveries-title">Webhook deliveries</h2>
${table(
  'Webhook deliveries',
  [
    ...[{ title: 'Received' }, { title: 'Event' }, { title: 'Investment' }, { title: 'Source' }],
    ...[{ title: 'State' }, { title: 'Attempts', number: true }, { title: 'Processed' }],
  ],
  deliveries.map((one) => [
    ...[age(one.received_at, now), one.test === 1 ? `${one.event} (test)` : one.event],
    investmentOf(one),
    ...[one.source ?? '–', stateWord(one.state), count(one.attempts)],
    one.worked_at === null ? '–' : age(one.worked_at, now),
  ]),
  'No webhook has arrived yet. Without webhooks, polling alone keeps the mirror up to date.',
)}</section>
<section id="quarantine" aria-labelledby="quarantine-title"><h2 id="quarantine-title">Quarantine</h2>
${table(
  'Quarantine',
  [{ title: 'Seen' }, { title: 'Source' }, { title: 'Record' }, { title: 'Problem' }],
  quarantine.map((one) => [
    moment(one.seen_at),
    one.source,
    one.id === null ? '–' : idText(one.id),
    one.problem,
  ]),
  'Every record could be read.',
)}</section>
<section id="notices" aria-labelledby="notices-title"><h2 id="notices-title">Notices</h2>
${table(
  'Notices',
  [
    ...[{ title: 'Queued' }, { title: 'To' }, { title: 'Source' }, { title: 'Change', number: true }],
    ...[{ title: 'State' }, { title: 'Attempts', number: true }, { title: 'Last error' }],
  ],
  notices.map((one) => [
    ...[age(one.queued_at, now), one.target, one.source, `#${count(one.seq)}`, stateWord(one.state)],
    ...[count(one.attempts), one.last_error ?? '–'],
  ]),
  'No notice has been queued yet.',
)}</section>
<section id="erasures" aria-labelledby="erasures-title"><h2 id="erasures-title">Erasures</h2>
${table(
  'Erasures',
  [
    { title: 'Invisible since' },
    { title: 'Source' },
    { title: 'Record' },
    { title: 'Cause' },
    { title: 'Scrubbed' },
  ],
  erasures.map((one) => [
    ...[
      moment(one.invisible_at),
      one.source ?? 'all',
      one.id === null ? '–' : idText(one.id),
      statusWords(one.cause),
    ],
    one.scrubbed_at === null
      ? html`<span class="state" data-state="working">not scrubbed yet</span>`
      : moment(one.scrubbed_at),
  ]),
  'Nothing has been erased yet.',
)}</section>`;
}

/** The round and the company of an investment, with its id small beside them. */
function investmentOf({ source, investment, company_name, round_name }: DeliverySeen): Html | string {
  if (investment === null) return '–';
  if (source === null) return investment;
  const name = [round_name, company_name].filter((part) => part !== null).join(' · ');
  const link = recordLink(source, investment);
  return name === '' ? link : html`<span class="named">${name}${link}</span>`;
}

const stateOf: Readonly<Record<string, string>> = {
  pending: 'working',
  worked: 'ok',
  delivered: 'ok',
  given_up: 'failing',
};

const stateWord = (word: string): Html =>
  html`<span class="state" data-state="${stateOf[word] ?? 'none'}">${statusWords(word)}</span>`;
