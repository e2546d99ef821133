import { type Html, html } from '../../runtime/html.js';
import type { ChangeSeen } from '../ports/overview.js';
import { columnLabel, statusWords, valueWords } from './columns.js';
import { counted, money, zonedMoment } from './format.js';

/** Columns of a change that are named; further ones are counted. */
const columnsMax = 3;
/** Lists and objects are too long for a sentence: the page of the record shows them. */
const long = new Set(['blockers', 'contracts', 'terms', 'reported_rounds', 'extra']);

/** Drawn, since not every font has an arrow. */
const arrow = html`<span class="becomes" role="img" aria-label="became"></span>`;

/**
 * Returns a change in words, such as `Status: reserved → active`, with times in the reader's zone. Names of people are never
 * part of it.
 */
export function changeWords(change: ChangeSeen): Html {
  const { kind, before, after, currency, title } = change;
  switch (kind) {
    case 'snapshot':
      return html`First listing complete`;
    case 'added':
      return html`${['New investment', ...amounts(after, currency)].join(': ')}`;
    case 'removed':
      return html`${['Withdrawn', ...amounts(before, currency)].join(': ')}`;
    case 'company_added':
      return html`New company`;
    case 'company_removed':
      return html`Company no longer listed`;
    case 'round_added':
      return html`New round`;
    case 'round_removed':
      return html`Round no longer listed`;
    case 'update_added':
      return html`New post${quoted(title)}`;
    case 'update_changed':
      return html`Post changed${quoted(title)}`;
    case 'update_removed':
      return html`Post removed${quoted(title)}`;
    default:
      return columnsInWords(change);
  }
}

const quoted = (title: string | null): string => (title === null ? '' : `: “${title}”`);

/** Returns `$500.00 committed, reserved`, as far as the values are known. */
function amounts(values: ChangeSeen['before'], currency: string | null): string[] {
  if (values === null) return [];
  const { committed_cents: cents, status } = values;
  const parts = [
    ...(typeof cents === 'number' ? [`${money(cents, currency)} committed`] : []),
    ...(typeof status === 'string' ? [statusWords(status)] : []),
  ];
  return parts.length === 0 ? [] : [parts.join(', ')];
}

function columnsInWords({ fields, before, after, names, currency }: ChangeSeen): Html {
  const own = fields.filter((name) => !name.startsWith('identity.'));
  // An investment that moved to another round may have another currency.
  const currencyIn = (values: ChangeSeen['before']) =>
    typeof values?.currency === 'string' ? values.currency : currency;
  const [currencyBefore, currencyAfter] = [currencyIn(before), currencyIn(after)];
  const inWords = (name: string, value: unknown, of: string | null): Html | string => {
    if (typeof value === 'string' && name.endsWith('_at')) return zonedMoment(value);
    const named = typeof value === 'string' && name.endsWith('_id') ? names[value] : undefined;
    return named ?? valueWords(name, value, of);
  };
  const parts = own.slice(0, columnsMax).map((name): Html | string => {
    const [was, is] = [before?.[name], after?.[name]];
    if (was === undefined || is === undefined || long.has(name)) return columnLabel(name);
    return html`${columnLabel(name)}: ${inWords(name, was, currencyBefore)} ${arrow} ${inWords(name, is, currencyAfter)}`;
  });
  if (own.length > columnsMax) parts.push(counted(own.length - columnsMax, 'more column'));
  if (own.length < fields.length) parts.push('Personal data');
  if (parts.length === 0) return html`Changed`;
  return html`${parts.map((part, index) => (index === 0 ? html`${part}` : html` · ${part}`))}`;
}
