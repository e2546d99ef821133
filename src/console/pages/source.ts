import { type Html, html } from '../../runtime/html.js';
import { age, count, duration, moment } from '../parts/format.js';
import { idText } from '../parts/id.js';
import { table } from '../parts/table.js';
import { tickOutcome } from '../parts/tick-outcome.js';
import type { SourcePageSeen } from '../ports/activity.js';
import type { OperatorAction } from '../ports/operations.js';
import { actionPath, answer, type Flash } from './actions.js';
import { companyPath } from './companies.js';
import { fact, sourceState } from './source-card.js';
import { stateBadge } from './sources.js';

export interface SourceShown {
  readonly seen: SourcePageSeen;
  readonly flash: Flash | null;
  /** Whether the reader may pause, resume and list again. */
  readonly mayAct: boolean;
}

/** Returns the page of one source: its state and why, what it mirrors, what an operator can do, and its last ticks. */
export function sourceBody({ seen, flash, mayAct }: SourceShown): Html {
  const now = Date.parse(seen.at);
  return html`<div class="heading"><h1>${seen.source}</h1>${stateBadge(seen.overall)}</div>
${flash === null ? null : answer(flash)}
${mayAct && seen.followed ? actions(seen) : null}
<div class="card">${sourceState(seen, now)}</div>
<section aria-labelledby="mirrors"><h2 id="mirrors">What it mirrors</h2><div class="card"><dl class="facts">
${fact('Company', company(seen))}
${seen.company_id === null ? null : fact('Company id', idText(seen.company_id))}
${fact('Installation', seen.installation === null ? '–' : idText(seen.installation))}
${fact('Created by', createdBy(seen))}
${seen.erased_at !== null ? fact('Erased', moment(seen.erased_at)) : seen.erase_after !== null ? fact('Erased after', moment(seen.erase_after)) : null}
</dl></div></section>
<section aria-labelledby="ticks"><h2 id="ticks">Last ticks</h2>
${table(
  'Last ticks',
  [
    ...[{ title: 'Started' }, { title: 'Trigger' }, { title: 'Mode' }],
    ...['Pages', 'Added', 'Changed', 'Removed', 'Took'].map((title) => ({ title, number: true })),
    { title: 'Outcome' },
  ],
  seen.ticks.map((tick) => [
    ...[age(tick.started_at, now), tick.trigger, tick.mode, count(tick.pages), count(tick.added)],
    ...[
      count(tick.changed),
      count(tick.removed),
      duration(tick.took_ms),
      tickOutcome(tick.outcome, tick.code),
    ],
  ]),
  'No tick has ended yet.',
)}</section>
<nav class="paging" aria-label="More about sources"><a class="button" href="/roster?source=${encodeURIComponent(seen.source)}">Its investments</a> <a class="button" href="/sources">All sources</a></nav>`;
}

function company({ source, company_id, company_name, readable }: SourcePageSeen): Html | string {
  if (company_id === null) return 'every investment that its token can read';
  const name = company_name ?? company_id;
  return readable === 1 ? html`<a href="${companyPath(source, company_id)}">${name}</a>` : name;
}

function createdBy({ origin, rule }: SourcePageSeen): string {
  if (origin === 'listed') return 'an entry of the configuration';
  return origin === 'followed' ? `the follow rule ${rule}` : 'an earlier configuration';
}

function actions({ source, paused_at, awaiting_deletion, quarantine_open }: SourcePageSeen): Html {
  const to = (action: OperatorAction, word: string) =>
    html`<a class="button" href="${actionPath(action, { source, back: 'source' })}">${word}</a> `;
  return html`<p class="buttons">${paused_at === null ? html`${to('resync', 'List again')}${to('pause', 'Pause')}` : to('resume', 'Resume')}${awaiting_deletion > 0 ? to('accept_deletions', 'Accept deletions') : null}${quarantine_open > 0 ? to('retry_quarantine', 'Retry quarantine') : null}</p>`;
}
