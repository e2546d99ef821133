import { type OverallState, overallStates } from '../../domain/overall-state.js';
import { storableText } from '../../domain/text.js';
import type { SourcesWanted } from '../ports/sources.js';

/** The choices of a page of sources that are part of its address. */
export type SourcesAddress = Omit<SourcesWanted, 'limit'>;

const textMax = 200;
const pageMax = 1_000_000;

export function sourcesAddressFrom(query: URLSearchParams): SourcesAddress {
  const text = (name: string) => storableText((query.get(name) ?? '').trim().slice(0, textMax));
  const rule = text('rule');
  const page = /^\d{1,7}$/.test(query.get('page') ?? '') ? Number(query.get('page')) : 1;
  return {
    search: text('search'),
    state: overallStates.find((state) => state === query.get('state')) ?? null,
    rule: rule === '' ? null : rule,
    page: Math.min(Math.max(1, page), pageMax),
  };
}

export function sourcesPath(address: SourcesAddress, change: Partial<SourcesAddress> = {}): string {
  const { search, state, rule, page } = { ...address, ...change };
  const query = new URLSearchParams();
  if (search !== '') query.set('search', search);
  if (state !== null) query.set('state', state);
  if (rule !== null) query.set('rule', rule);
  if (page !== 1) query.set('page', String(page));
  return query.size === 0 ? '/sources' : `/sources?${query}`;
}

/** The address of the sources in one state. */
export const sourcesInState = (state: OverallState): string => `/sources?state=${state}`;

export const sourcePath = (source: string): string => `/sources/${encodeURIComponent(source)}`;
