import { type Html, html } from '../../runtime/html.js';
import { count, moment } from '../parts/format.js';
import { table } from '../parts/table.js';
import type { AuditSeen } from '../ports/operations.js';

const states: Readonly<Record<string, string>> = { done: 'ok', refused: 'attention', failed: 'failing' };

/** `older`: the entry below which the next page begins; null on the last page. */
export function auditBody(lines: readonly AuditSeen[], older: number | null): Html {
  return html`<div class="heading"><h1>Audit log</h1><p class="soft">What users of this console did. No names of investors, and no queries.</p></div>
${table(
  'Audit log',
  [
    { title: 'When' },
    { title: 'Who' },
    { title: 'Role' },
    { title: 'What' },
    { title: 'Outcome' },
    { title: 'Source' },
    { title: 'About' },
    { title: 'Rows', number: true },
    { title: 'Note' },
  ],
  lines.map((one) => [
    moment(one.at),
    one.actor,
    one.role,
    one.action.replaceAll('_', ' '),
    html`<span class="state" data-state="${states[one.outcome] ?? 'working'}">${one.outcome}</span>`,
    one.source ?? '–',
    one.subject ?? '–',
    one.rows_seen === null ? '–' : count(one.rows_seen),
    one.note ?? '–',
  ]),
  'Nothing has been logged yet.',
)}
${older === null ? null : html`<p><a href="/audit?before=${older}">Older</a></p>`}`;
}
