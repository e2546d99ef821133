import { type Html, html } from '../../runtime/html.js';
import { age, count, counted, moment } from '../parts/format.js';
import { csrfField } from '../parts/layout.js';
import { table } from '../parts/table.js';
import type { ActionsSeen, OperatorAction } from '../ports/operations.js';
import { sourcePath } from './sources-address.js';

export interface Flash {
  readonly text: string;
  readonly hint?: string | undefined;
  readonly wrong: boolean;
}

type SourceRow = ActionsSeen['sources'][number];
type NoticeRow = ActionsSeen['notices'][number];
type AlertRow = ActionsSeen['alerts'][number];

/** The address of the page on which an action is confirmed. */
export function actionPath(action: OperatorAction, subject: Readonly<Record<string, string>>): string {
  return `/actions/${slugOf(action)}?${new URLSearchParams(subject)}`;
}

export const slugOf = (action: OperatorAction): string => action.replaceAll('_', '-');

export function actionsBody(seen: ActionsSeen, flash: Flash | null, now: number): Html {
  return html`<div class="heading"><h1>Actions</h1><p class="soft">Each is confirmed on its own page and written to the <a href="/audit">audit log</a>.</p></div>
${flash === null ? null : answer(flash)}
<section aria-labelledby="of-sources"><h2 id="of-sources">Sources</h2>
${seen.sources_total > seen.sources.length ? html`<p class="soft">These are the ${count(seen.sources.length)} worst of ${counted(seen.sources_total, 'source')}. Find the others on the page <a href="/sources">Sources</a>.</p>` : null}
${table(
  'Sources',
  [
    { title: 'Source' },
    { title: 'State' },
    { title: 'Await deletion', number: true },
    { title: 'In quarantine', number: true },
    { title: 'Actions' },
  ],
  seen.sources.map((one) => [
    html`<a href="${sourcePath(one.source)}">${one.source}</a>`,
    stateOf(one, seen),
    count(one.awaiting_deletion),
    count(one.quarantine_open),
    linksOf(one),
  ]),
  'No source is mirrored yet.',
)}</section>
<section aria-labelledby="of-notices"><h2 id="of-notices">Notices not delivered</h2>
${table(
  'Notices not delivered',
  [
    { title: 'Notice' },
    { title: 'To' },
    { title: 'Source' },
    { title: 'Queued' },
    { title: 'State' },
    { title: 'Attempts', number: true },
    { title: 'Last error' },
    { title: 'Actions' },
  ],
  seen.notices.map((one) => [
    `#${one.notice}`,
    one.target,
    one.source,
    age(one.queued_at, now),
    one.state.replaceAll('_', ' '),
    count(one.attempts),
    one.last_error ?? '–',
    link('resend_notice', { notice: String(one.notice) }, 'Resend', `Resend notice ${one.notice}`),
  ]),
  'Every notice was delivered, or has not been tried yet.',
)}</section>
<section aria-labelledby="of-alerts"><h2 id="of-alerts">Alerts not delivered</h2>
${table(
  'Alerts not delivered',
  [
    { title: 'Alert' },
    { title: 'About' },
    { title: 'To' },
    { title: 'Queued' },
    { title: 'State' },
    { title: 'Attempts', number: true },
    { title: 'Last error' },
    { title: 'Actions' },
  ],
  seen.alerts.map((one) => [
    `#${one.alert}`,
    one.key,
    one.target,
    age(one.queued_at, now),
    one.state.replaceAll('_', ' '),
    count(one.attempts),
    one.last_error ?? '–',
    link('resend_alert', { alert: String(one.alert) }, 'Resend', `Resend alert ${one.alert}`),
  ]),
  'Every alert was delivered, or has not been tried yet.',
)}</section>`;
}

export const answer = ({ text, hint, wrong }: Flash): Html =>
  html`<div class="note${wrong ? ' wrong' : ''}" role="${wrong ? 'alert' : 'status'}"><p>${text}</p>${hint === undefined ? null : html`<p class="soft">${hint}</p>`}</div>`;

function stateOf({ source, paused_at }: SourceRow, { requests }: ActionsSeen): Html {
  const asked = requests.filter((one) => one.source === source);
  return html`${paused_at === null ? 'following' : html`paused since ${moment(paused_at)}`}${asked.map(
    ({ kind, actor }) =>
      html`<br><span class="soft">${kind.replaceAll('_', ' ')} requested by ${actor}</span>`,
  )}`;
}

function linksOf({ source, paused_at, awaiting_deletion, quarantine_open }: SourceRow): Html {
  const to = (action: OperatorAction, word: string) => link(action, { source }, word, `${word} ${source}`);
  const offered = [
    paused_at === null ? to('resync', 'Resync') : null,
    paused_at === null ? to('pause', 'Pause') : to('resume', 'Resume'),
    awaiting_deletion > 0 ? to('accept_deletions', 'Accept deletions') : null,
    quarantine_open > 0 ? to('retry_quarantine', 'Retry quarantine') : null,
  ];
  return html`${offered.flatMap((one) => (one === null ? [] : [html`${one} `]))}`;
}

const link = (
  action: OperatorAction,
  subject: Readonly<Record<string, string>>,
  word: string,
  label: string,
): Html => html`<a href="${actionPath(action, subject)}" aria-label="${label}">${word}</a>`;

/** What is confirmed: a question, its consequences, and the fields that the form sends. */
export interface Confirmation {
  readonly title: string;
  readonly meaning: string;
  readonly button: string;
  readonly fields: Readonly<Record<string, string>>;
  /** A page that shows what the action is about. */
  readonly look?: { readonly path: string; readonly word: string };
}

/** The page that an action returns to. */
export const backPath = (back: string, source: string | undefined): string =>
  back === 'source' && source !== undefined && source !== '' ? sourcePath(source) : '/actions';
/** What an address names, as far as it exists. */
export interface Subject {
  readonly source: SourceRow | undefined;
  readonly notice: NoticeRow | undefined;
  readonly alert: AlertRow | undefined;
}

export function confirmationOf(
  action: OperatorAction,
  { source, notice, alert }: Subject,
): Confirmation | null {
  if (action === 'resend_notice') {
    if (notice === undefined) return null;
    return {
      title: `Send notice ${notice.notice} again?`,
      meaning: `It goes to ${notice.target} once more, at once. ${notice.target} may have received it already: it then has the same message id.`,
      button: 'Send again',
      fields: { notice: String(notice.notice) },
    };
  }
  if (action === 'resend_alert') {
    if (alert === undefined) return null;
    return {
      title: `Send alert ${alert.alert} again?`,
      meaning: `It reports ${alert.key} as it was ${alert.queued_at.slice(0, 16).replace('T', ' ')} UTC, and goes to ${alert.target} once more, at once. ${alert.target} may have received it already: it then has the same message id.`,
      button: 'Send again',
      fields: { alert: String(alert.alert) },
    };
  }
  if (source === undefined) return null;
  const name = source.source;
  const fields = { source: name };
  switch (action) {
    case 'resync':
      return {
        title: `List ${name} again?`,
        meaning:
          'Every record is read from the platform, which uses its hourly request quota. The stored rows stay readable meanwhile, and only differences are applied. Many missing rows await your approval before they are deleted.',
        button: 'List again',
        fields,
      };
    case 'accept_deletions':
      return {
        title: `Delete ${counted(source.awaiting_deletion, 'row')} of ${name}?`,
        meaning:
          'The last complete listing did not name them. Their personal data is erased and their last version goes to the history. This cannot be undone.',
        button: 'Delete them',
        fields: { ...fields, rows: String(source.awaiting_deletion) },
        look: {
          path: `/sql#sql=${encodeURIComponent(`SELECT * FROM awaiting_deletion WHERE source = '${name}'`)}`,
          word: 'Look at them first',
        },
      };
    case 'pause':
      return {
        title: `Pause ${name}?`,
        meaning:
          'It is not synced until someone resumes it, also after a restart. Webhooks are still accepted. Its data grows old meanwhile.',
        button: 'Pause',
        fields,
      };
    case 'resume':
      return {
        title: `Resume ${name}?`,
        meaning: 'It is brought up to date at once, and then followed as before.',
        button: 'Resume',
        fields,
      };
    case 'retry_quarantine':
      return {
        title: `Read ${counted(source.quarantine_open, 'record')} of ${name} again?`,
        meaning:
          'The first 25 of them with an id are read again, which uses a few requests of the quota for each. Those that can be read now leave the quarantine.',
        button: 'Read again',
        fields,
      };
  }
}

/** `back` is the page that the form was opened from. */
export function confirmBody(
  action: OperatorAction,
  wanted: Confirmation,
  csrf: string,
  back: '' | 'source',
): Html {
  const { title, meaning, button, fields, look } = wanted;
  return html`<div class="narrow"><h1>${title}</h1><p>${meaning}</p>
${look === undefined ? null : html`<p><a href="${look.path}">${look.word}</a></p>`}
<form method="post" action="/actions/${slugOf(action)}">${csrfField(csrf)}
${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${back === '' ? null : html`<input type="hidden" name="back" value="${back}">`}
<p class="buttons"><button class="primary">${button}</button> <a href="${backPath(back, fields.source)}">Cancel</a></p></form></div>`;
}
