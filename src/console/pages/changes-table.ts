import { type Html, html } from '../../runtime/html.js';
import { changeWords } from '../parts/change-words.js';
import { age, moment } from '../parts/format.js';
import { idText } from '../parts/id.js';
import { named } from '../parts/named.js';
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
      html`<span class="named words">${changeWords(change)}${subjectLink(change)}</span>`,
      round(change),
      company(change),
      now === null ? moment(change.at) : age(change.at, now),
    ]),
    empty,
    'lines',
  );
}

function subjectLink({ source, kind, id, company_id }: ChangeSeen): Html | null {
  if (id === null) return html`<span class="soft">${source}</span>`;
  if (!kind.includes('_')) return idText(id, recordPath(source, id));
  return idText(id, company_id === null ? undefined : companyPath(source, company_id));
}

/** The name with the id beside it, unless the first column has that id. */
function round({ kind, offering_id, round_name }: ChangeSeen): Html | string {
  return kind.startsWith('round_') && round_name !== null ? round_name : named(round_name, offering_id, '–');
}

function company({ source, kind, company_id, company_name }: ChangeSeen): Html | string {
  if (company_id === null) return '–';
  const path = companyPath(source, company_id);
  return kind.startsWith('company_') && company_name !== null
    ? html`<a href="${path}">${company_name}</a>`
    : named(company_name, company_id, '–', path);
}
