import { type Html, html } from '../../runtime/html.js';
import { changeWords } from '../parts/change-words.js';
import { age, moment } from '../parts/format.js';
import { idText } from '../parts/id.js';
import { table } from '../parts/table.js';
import type { ChangeSeen } from '../ports/overview.js';
import { companyPath } from './companies.js';
import { recordPath } from './record-link.js';

/** Returns the changes by the names of their companies and rounds. `now`: null shows times instead of ages. */
export function changesTable(
  label: string,
  changes: readonly ChangeSeen[],
  now: number | null,
  empty: string,
): Html {
  return table(
    label,
    ['Change', 'Round', 'Company', 'When'].map((title) => ({ title })),
    changes.map((change) => [
      html`<span class="named words">${withArrows(changeWords(change))}${subjectLink(change)}</span>`,
      change.round_name ?? (change.offering_id === null ? '–' : idText(change.offering_id)),
      company(change),
      now === null ? moment(change.at) : age(change.at, now),
    ]),
    empty,
    'lines',
  );
}

/** Draws the arrows of a text, since not every font has them. */
const withArrows = (text: string): Html =>
  html`${text
    .split(' → ')
    .map((part, index) =>
      index === 0
        ? html`${part}`
        : html` <span class="becomes" role="img" aria-label="became"></span> ${part}`,
    )}`;

function subjectLink({ source, kind, id, company_id }: ChangeSeen): Html | null {
  if (id === null) return html`<span class="soft">${source}</span>`;
  if (!kind.includes('_')) return idText(id, recordPath(source, id));
  return idText(id, company_id === null ? undefined : companyPath(source, company_id));
}

function company({ source, company_id, company_name }: ChangeSeen): Html | string {
  if (company_id === null) return '–';
  const path = companyPath(source, company_id);
  return company_name === null ? idText(company_id, path) : html`<a href="${path}">${company_name}</a>`;
}
