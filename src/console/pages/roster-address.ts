import { defined } from '../../domain/defined.js';
import type { Instant } from '../../domain/instant.js';
import { storableText } from '../../domain/text.js';
import type { RosterFilter, RosterOrder, RosterPosition, RosterWanted } from '../ports/roster.js';
import { rosterOrders } from '../ports/roster.js';

/** The choices of a roster page that are part of its address. The address never contains a name. */
export interface RosterAddress {
  readonly filter: Omit<RosterFilter, 'person' | 'named'>;
  /** Key of the name that was searched for, see `NameSearches`; empty when there is none. */
  readonly search: string;
  readonly order: RosterOrder;
  readonly descending: boolean;
  readonly after: RosterPosition | null;
  /** The past time to show, as it was typed; empty for the present. */
  readonly asOf: string;
}

const filterKeys = ['source', 'company', 'round', 'status', 'id'] as const;
const textMax = 200;
const asOfCharactersMax = 40;

export function addressFrom(query: URLSearchParams): RosterAddress {
  const filter: Record<string, string> = {};
  for (const key of filterKeys) {
    const value = query.get(key)?.trim().slice(0, textMax);
    if (value !== undefined && value !== '') filter[key] = storableText(value);
  }
  const order = rosterOrders.find((one) => one === query.get('order')) ?? 'applied_at';
  return {
    filter,
    search: /^\w{1,32}$/.exec(query.get('search') ?? '')?.[0] ?? '',
    order,
    descending: query.get('dir') !== 'asc',
    after: positionFrom(query.get('after') ?? '', order),
    asOf: (query.get('as-of') ?? '').trim().slice(0, asOfCharactersMax),
  };
}

export function rosterPath(address: RosterAddress, change: Partial<RosterAddress> = {}): string {
  const { filter, search, order, descending, after, asOf } = { ...address, ...change };
  const query = new URLSearchParams();
  for (const key of filterKeys) if (filter[key] !== undefined) query.set(key, filter[key]);
  if (search !== '') query.set('search', search);
  if (order !== 'applied_at') query.set('order', order);
  if (!descending) query.set('dir', 'asc');
  if (asOf !== '') query.set('as-of', asOf);
  if (after !== null) query.set('after', positionText(after));
  return query.size === 0 ? '/roster' : `/roster?${query}`;
}

/** Adds the text that is searched for: while names are masked, only those of companies and rounds are compared. */
export function searchedFor(
  { filter }: RosterAddress,
  text: string | undefined,
  withPeople: boolean,
): RosterFilter {
  if (text === undefined) return filter;
  return withPeople ? { ...filter, person: text } : { ...filter, named: text };
}

export function wantedFrom(
  address: RosterAddress,
  text: string | undefined,
  identity: boolean,
  rowsMax: number,
  at?: Instant,
): RosterWanted {
  const { order, descending, after } = address;
  return {
    filter: searchedFor(address, text, identity),
    order,
    descending,
    after,
    rowsMax,
    identity,
    ...defined({ asOf: at }),
  };
}

const positionText = ({ value, id, source }: RosterPosition): string =>
  Buffer.from(JSON.stringify([value, id, source])).toString('base64url');

/** Returns null for an invalid position, which shows the first page. */
function positionFrom(text: string, order: RosterOrder): RosterPosition | null {
  if (text === '' || text.length > 1_000) return null;
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!Array.isArray(parts)) return null;
    const [value, id, source] = parts as unknown[];
    if (typeof id !== 'string' || typeof source !== 'string') return null;
    const row = { id: storableText(id), source: storableText(source) };
    if (value === null) return { value, ...row };
    // PostgreSQL rejects comparing a column of cents with text.
    if (order.endsWith('_cents'))
      return Number.isSafeInteger(value) ? { value: Number(value), ...row } : null;
    return typeof value === 'string' ? { value: storableText(value), ...row } : null;
  } catch {
    return null;
  }
}
