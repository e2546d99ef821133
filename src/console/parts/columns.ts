import { money } from './format.js';

/** How people read the columns of the mirror: their names and values in words. */

/** Returns the words of a column: `committed_cents` is `Committed`. */
export function columnLabel(name: string): string {
  if (name.startsWith('identity.')) return `${columnLabel(name.slice('identity.'.length))} (personal)`;
  const words = name.replace(/_(?:cents|at|id)$/, '').replaceAll('_', ' ');
  return words === 'offering' ? 'Round' : `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

const flags = new Set([
  ...['needs_whitelisting', 'visible', 'investor_deactivated', 'via_entity'],
  ...['testing_the_waters', 'pinned'],
]);

export const isFlag = (name: string): boolean => flags.has(name);

/** Returns a status such as `needs_whitelisting` in words. */
export const statusWords = (status: string): string => status.replaceAll('_', ' ');

/** Returns a value as text: amounts as money, flags as yes or no, times to the second. */
export function valueWords(name: string, value: unknown, currency: string | null): string {
  if (value === null || value === undefined) return 'none';
  if (name.endsWith('_cents') && typeof value === 'number') return money(value, currency);
  if (isFlag(name)) return Number(value) === 0 ? 'no' : 'yes';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'string') return JSON.stringify(value);
  if (name === 'status') return statusWords(value);
  return name.endsWith('_at') ? `${value.slice(0, 19).replace('T', ' ')} UTC` : value;
}
