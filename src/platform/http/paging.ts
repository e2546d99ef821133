import { createHmac, timingSafeEqual } from 'node:crypto';
import { perPage } from '../../contract/limits.js';
import type { State } from '../state/database.js';
import { one } from '../state/statements.js';
import { badParameter } from './problem.js';

/**
 * A place in a sorted list: what the item there is sorted by, ascending, ending in something unique. A page begins
 * after the place and not at a count, so that what is added or taken away before it shifts nothing.
 */
export type Place = readonly (string | number)[];

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
}

export interface PageWish {
  readonly cursor: string | undefined;
  readonly size: number;
  /** The list and its order; a cursor of another one is not valid here. */
  readonly list: string;
}

/** Sorts by place and cuts one page out. */
export function pageOf<Item>(
  state: State,
  items: readonly Item[],
  placeOf: (item: Item) => Place,
  wish: PageWish,
): Page<Item> {
  const placed = items.map((item) => ({ item, place: placeOf(item) }));
  placed.sort((a, b) => comparePlaces(a.place, b.place));
  const after = wish.cursor === undefined ? null : openPlace(state, wish.list, wish.cursor);
  const rest = after === null ? placed : placed.filter(({ place }) => comparePlaces(place, after) > 0);
  const page = rest.slice(0, wish.size);
  const last = page.at(-1);
  const hasMore = rest.length > page.length;
  return {
    items: page.map(({ item }) => item),
    hasMore,
    nextCursor: hasMore && last !== undefined ? sealPlace(state, wish.list, last.place) : null,
  };
}

export const pageMeta = (page: Page<unknown>) => ({
  has_more: page.hasMore,
  page_count: page.items.length,
  next_cursor: page.nextCursor,
});

/** Above the maximum is the maximum, zero and below is the default. */
export function pageSizeOf(
  text: string | undefined,
  bounds: { readonly default: number; readonly max: number } = perPage,
  parameter = 'per_page',
): number {
  if (text === undefined) return bounds.default;
  if (!/^[+-]?\d{1,9}$/.test(text)) throw badParameter(parameter, `${parameter} must be a whole number.`);
  const size = Number(text);
  return size <= 0 ? bounds.default : Math.min(size, bounds.max);
}

function comparePlaces(a: Place, b: Place): number {
  for (const [index, left] of a.entries()) {
    const right = b[index];
    if (right === undefined) return 1;
    if (left === right) continue;
    return left < right ? -1 : 1;
  }
  return a.length - b.length;
}

function sealPlace(state: State, list: string, place: Place): string {
  const payload = Buffer.from(JSON.stringify(place));
  return `p_${Buffer.concat([seal(state, list, payload), payload]).toString('base64url')}`;
}

function openPlace(state: State, list: string, cursor: string): Place {
  const bytes = Buffer.from(cursor.slice(2), 'base64url');
  const payload = bytes.subarray(sealBytes);
  const genuine =
    bytes.length > sealBytes &&
    `p_${bytes.toString('base64url')}` === cursor &&
    timingSafeEqual(bytes.subarray(0, sealBytes), seal(state, list, payload));
  if (genuine) return JSON.parse(payload.toString('utf8')) as Place;
  throw badParameter('cursor', 'This cursor is not one this list gave out; pass next_cursor back unchanged.');
}

const sealBytes = 16;

function seal(state: State, list: string, payload: Buffer): Buffer {
  const key = one<{ cursor_key: Buffer }>(state, 'SELECT cursor_key FROM feed')?.cursor_key;
  if (key === undefined) throw new Error('the platform has no key to seal cursors with');
  return createHmac('sha256', key)
    .update('list\0')
    .update(list)
    .update('\0')
    .update(payload)
    .digest()
    .subarray(0, sealBytes);
}
