import { type Html, html } from '../../runtime/html.js';
import type { StatusSeen } from '../ports.js';
import { age } from './format.js';

/** Shows the problems of the process and what its ticks wait for; problems of a source are on its card. */
export function processProblems(
  { problems, waits }: Pick<StatusSeen, 'problems' | 'waits'>,
  now: number,
): Html | null {
  const own = problems.filter(({ source }) => source === undefined);
  if (own.length + waits.length === 0) return null;
  return html`<section id="daemon" aria-labelledby="daemon-title"><h2 id="daemon-title">This daemon</h2>
${own.map(
  ({ severity, text, since }) =>
    html`<p class="note wrong"><span class="state" data-state="${severity === 'ill' ? 'failing' : 'attention'}">${severity === 'ill' ? 'Cannot do its work' : 'Needs a person'}</span> ${text}. <span class="soft">Since ${age(since, now)}</span></p>`,
)}${waits.map(
  ({ text, since }) =>
    html`<p class="note"><span class="state" data-state="working">Waits</span> ${text}. <span class="soft">Since ${age(since, now)}</span></p>`,
)}</section>`;
}
