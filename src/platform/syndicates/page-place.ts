import { createHmac, timingSafeEqual } from 'node:crypto';
import { badParameter } from '../http/problem.js';
import { pageSize } from '../investments/pages.js';
import { feedHead } from '../investments/queries.js';
import type { State } from '../state/database.js';

/** After which row the next page begins: what the listing is ordered by, and the row's own number among equals. */
export interface Place {
  readonly key: string | number;
  readonly no: number;
}

export interface PageAsked {
  readonly cursor?: string | undefined;
  readonly per_page?: string | undefined;
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly meta: {
    readonly has_more: boolean;
    readonly page_count: number;
    readonly next_cursor: string | null;
  };
}

/**
 * Reads one page. `listing` names whose page of what in which order it is; it is part of the seal and not of the
 * text, so a cursor taken to another listing, or by another reader, is as broken as an invented one.
 */
export function readPageOf<Row>(
  state: State,
  listing: string,
  asked: PageAsked,
  read: (after: Place | null, limit: number) => readonly Row[],
  placeOf: (row: Row) => Place,
): Page<Row> {
  const size = pageSize(asked.per_page);
  const { cursor_key: key } = feedHead(state);
  const after = asked.cursor === undefined ? null : openPlace(key, listing, asked.cursor);
  // One row more than asked for tells whether there is another page.
  const found = read(after, size + 1);
  const rows = found.slice(0, size);
  const last = rows.at(-1);
  const hasMore = found.length > size;
  const next = hasMore && last !== undefined ? sealPlace(key, listing, placeOf(last)) : null;
  return { rows, meta: { has_more: hasMore, page_count: rows.length, next_cursor: next } };
}

function sealPlace(key: Buffer, listing: string, place: Place): string {
  const payload = Buffer.from(JSON.stringify([place.key, place.no]));
  return `p_${Buffer.concat([seal(key, listing, payload), payload]).toString('base64url')}`;
}

function openPlace(key: Buffer, listing: string, text: string): Place {
  const bytes = Buffer.from(text.slice(2), 'base64url');
  const payload = bytes.subarray(sealBytes);
  const given = bytes.subarray(0, sealBytes);
  const ours = `p_${bytes.toString('base64url')}` === text && given.length === sealBytes;
  if (!ours || !timingSafeEqual(given, seal(key, listing, payload))) {
    throw badParameter('cursor', 'cursor is not one that this listing gave out.');
  }
  // Only what we sealed gets here.
  const [placeKey, no] = JSON.parse(payload.toString('utf8')) as [string | number, number];
  return { key: placeKey, no };
}

const sealBytes = 16;
const seal = (key: Buffer, listing: string, payload: Buffer): Buffer =>
  createHmac('sha256', key)
    .update('page\0')
    .update(listing)
    .update('\0')
    .update(payload)
    .digest()
    .subarray(0, sealBytes);
