import { perPage } from '../../wire/limits.js';
import type { State } from '../state/database.js';
import { openPosition, type Position, sealPosition } from './page-cursor.js';
import { badParameter, type Problem } from './problem.js';

export type { Position } from './page-cursor.js';

/** The pagination parameters of a listing. */
export interface Asked {
  readonly cursor?: string | undefined;
  readonly per_page?: string | undefined;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly meta: {
    readonly has_more: boolean;
    readonly page_count: number;
    readonly next_cursor: string | null;
  };
}

/** Builds the error for an invalid query parameter: 400, or 422 for the lists of investment sessions. */
export type Refusal = (parameter: string, message: string) => Problem;

export interface PageWish {
  /** Identifies the list, its reader and its order. Cursors of any other list are invalid. */
  readonly list: string;
  readonly cursor: string | undefined;
  readonly size: number;
  readonly refuse?: Refusal;
}

/**
 * Reads one page of a list sorted by SQL. `read` returns the items after a position, or from the start for null. One
 * extra item is read to learn whether another page follows.
 */
export function readPage<Item, At extends Position>(
  state: State,
  wish: PageWish,
  read: (after: At | null, limit: number) => readonly Item[],
  placeOf: (item: Item) => At,
): Page<Item> {
  // The cast is safe: only positions made by `placeOf` for this list have a valid signature.
  const after = wish.cursor === undefined ? null : (placeIn(state, wish, wish.cursor) as At);
  const found = read(after, wish.size + 1);
  const items = found.slice(0, wish.size);
  const last = items.at(-1);
  const more = found.length > items.length && last !== undefined;
  return {
    items,
    meta: {
      has_more: more,
      page_count: items.length,
      next_cursor: more ? sealPosition(state, wish.list, placeOf(last)) : null,
    },
  };
}

/** Same for a list in memory: sorts it by position, ascending, and returns the page. */
export function pageOf<Item>(
  state: State,
  items: readonly Item[],
  placeOf: (item: Item) => Position,
  wish: PageWish,
): Page<Item> {
  const placed = items.map((item) => ({ item, place: placeOf(item) }));
  placed.sort((a, b) => comparePositions(a.place, b.place));
  const read = (after: Position | null, limit: number) =>
    placed.filter(({ place }) => after === null || comparePositions(place, after) > 0).slice(0, limit);
  const page = readPage(state, wish, read, ({ place }) => place);
  return { items: page.items.map(({ item }) => item), meta: page.meta };
}

/** Values above the maximum become the maximum; zero and negative values become the default. */
export function pageSizeOf(
  text: string | undefined,
  bounds: { readonly default: number; readonly max: number } = perPage,
  parameter = 'per_page',
  refuse: Refusal = badParameter,
): number {
  if (text === undefined) return bounds.default;
  if (!/^[+-]?\d+$/.test(text)) throw refuse(parameter, `${parameter} must be a whole number.`);
  const size = Number(text);
  return size <= 0 ? bounds.default : Math.min(size, bounds.max);
}

function placeIn(state: State, { list, refuse = badParameter }: PageWish, cursor: string): Position {
  const place = openPosition(state, list, cursor);
  if (place !== undefined) return place;
  throw refuse('cursor', 'cursor: not valid for this list; send next_cursor unchanged.');
}

function comparePositions(a: Position, b: Position): number {
  for (const [index, left] of a.entries()) {
    const right = b[index];
    if (right === undefined) return 1;
    if (left === right) continue;
    return left < right ? -1 : 1;
  }
  return a.length - b.length;
}
