import { type Html, html } from '../../runtime/html.js';
import { count, currencyCode, money } from '../parts/format.js';
import { table } from '../parts/table.js';
import type { CompanyFigures, Sums, Weeks } from '../ports/overview.js';

export const figure = (name: string, value: string): Html =>
  html`<div class="figure"><dt>${name}</dt><dd><strong>${value}</strong></dd></div>`;

export const currencyWords = (currency: string | null): string =>
  currencyCode(currency) || (currency ?? 'No currency');

/** Returns the totals of a company in one currency, and this week against the last. */
export function companyFigures(label: string, one: CompanyFigures, weeks: Weeks): Html {
  const { currency, week, weekBefore } = one;
  return html`<dl class="figures plain">
${figure('Raised', money(one.raised_cents, currency))}
${figure('Committed', money(one.committed_cents, currency))}
${figure('Investors', count(one.investors))}
${figure('Investments', count(one.investments))}</dl>
${weekTable(label, currency, week, weekBefore, weeks)}`;
}

/** The last seven days against the seven before. */
export function weekTable(
  label: string,
  currency: string | null,
  now: Sums,
  before: Sums,
  weeks: Weeks,
): Html {
  const line = (name: string, pick: keyof Sums, words: (value: number) => string) => [
    name,
    words(now[pick]),
    words(before[pick]),
    comparison(now[pick], before[pick]),
  ];
  const cents = (value: number) => money(value, currency);
  const range = (from: string, to: string, words: string) =>
    html`<span title="${from} to ${to}, UTC">${words}</span>`;
  return table(
    `${label}: this week against last`,
    [
      { title: html`<span class="unseen">Figure</span>` },
      { title: range(weeks.from, weeks.to, 'Last 7 days'), number: true },
      { title: range(weeks.beforeFrom, weeks.beforeTo, '7 days before'), number: true },
      { title: 'Change', number: true },
    ],
    [
      line('Raised', 'raised_cents', cents),
      line('Committed', 'committed_cents', cents),
      line('Investments', 'investments', count),
    ],
    '',
    'week',
  );
}

/** Returns by how much a figure changed, in percent. */
export function comparison(now: number, before: number): string {
  if (now === before) return 'same';
  if (before <= 0) return 'new';
  const percent = Math.round((100 * (now - before)) / before);
  return `${percent > 0 ? '+' : percent < 0 ? '−' : '±'}${count(Math.abs(percent))} %`;
}
