import { type Html, html } from '../../../runtime/html.js';
import { table } from '../../pages/table.js';
import type { MovableClock } from '../clock.js';
import type { FaultAction, Faults, RuleInForce } from '../faults.js';
import type { RecentTraffic, TrafficEntry } from './traffic.js';

/** What the script of the page updates. Forms are outside, so that an update never replaces a focused button. */
export interface LiveState {
  readonly clock: MovableClock;
  readonly faults: Faults;
  readonly traffic: RecentTraffic;
}

const utc = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ');

export const logPart = ({ traffic }: LiveState): Html =>
  html`<div id="log" data-live>${table(['Time (UTC)', 'Status', 'What', 'Id', 'Scopes used'], traffic.newestFirst().map(entryRow))}</div>`;

function entryRow(entry: TrafficEntry): readonly Html[] {
  const failed = entry.status === null || entry.status >= 400;
  const status = html`${entry.status ?? entry.error ?? 'no response'}`;
  return [
    html`<time datetime="${new Date(entry.at).toISOString()}">${utc(entry.at)}</time>`,
    failed ? html`<span class="wrong">${status}</span>` : status,
    html`${entry.kind === 'delivery' ? html`<span class="pill">webhook</span> ` : null}<code>${entry.method} ${entry.path}</code>`,
    html`<code>${entry.id}</code>`,
    entry.scopes.length === 0 ? html`–` : html`<code>${entry.scopes.join(' ')}</code>`,
  ];
}

export function clockPart({ clock }: LiveState): Html {
  const seconds = Math.round(clock.offsetMillis / 1000);
  const ahead =
    seconds === 0
      ? 'Real time.'
      : `${lengthOf(Math.abs(seconds))} ${seconds > 0 ? 'ahead of' : 'behind'} real time.`;
  return html`<div id="clock" data-live><p class="time"><time>${utc(clock.now())} UTC</time></p><p class="soft">${ahead}</p></div>`;
}

/** Returns a length of time in its two largest units: `90 days 1 hour`. */
function lengthOf(seconds: number): string {
  const units = [
    ['day', Math.floor(seconds / 86_400)],
    ['hour', Math.floor(seconds / 3600) % 24],
    ['minute', Math.floor(seconds / 60) % 60],
    ['second', seconds % 60],
  ] as const;
  return units
    .filter(([, count]) => count > 0)
    .slice(0, 2)
    .map(([unit, count]) => `${count} ${unit}${count === 1 ? '' : 's'}`)
    .join(' ');
}

export function faultsPart({ faults }: LiveState): Html {
  const rules = faults.inForce();
  return html`<div id="faults" data-live>${
    rules.length === 0
      ? html`<p class="soft">None: every request is answered normally.</p>`
      : table(['Requests', 'Effect', 'Times left', 'First passes'], rules.map(ruleRow))
  }</div>`;
}

const ruleRow = (rule: RuleInForce): readonly Html[] => [
  html`<code>${requestsOf(rule)}</code>`,
  html`${effectOf(rule.action)}`,
  html`${rule.strikes}`,
  html`${rule.passes}`,
];

const requestsOf = ({ path, method, event }: RuleInForce): string =>
  path === 'webhook' ? `webhook deliveries${event === null ? '' : ` of ${event}`}` : `${method} ${path}`;

/** Describes an action without the body and the headers that it sends. */
function effectOf(action: FaultAction): string {
  const { status, delayMs, drop, truncate, omit, lose, duplicate, hold } = action;
  return [
    ...(delayMs === undefined ? [] : [`delayed by ${delayMs} ms`]),
    ...(drop === true ? ['connection cut'] : []),
    ...(status === undefined ? [] : [`status ${status}`]),
    ...(truncate === undefined ? [] : [`cut after ${truncate} bytes`]),
    ...(omit === undefined ? [] : [`${typeof omit === 'number' ? omit : omit.length} items left out`]),
    ...(lose === true ? ['lost'] : []),
    ...(duplicate === true ? ['sent twice'] : []),
    ...(hold === true ? ['held back'] : []),
  ].join(', ');
}

/** The document that the script requests: only the live parts. */
export const liveDocument = (state: LiveState): string =>
  html`<!doctype html>
<html lang="en"><title>Live parts</title>${clockPart(state)}${faultsPart(state)}${logPart(state)}</html>`
    .text;
