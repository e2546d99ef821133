import { createHmac, timingSafeEqual } from 'node:crypto';
import { perPage } from '../../contract/limits.js';
import { one } from '../state/statements.js';
import type { Exchange } from './exchange.js';
import { invalidFields } from './problem.js';

/** A listing, newest first, walks row numbers downward: a page costs the same wherever it stands. */
export interface Asked {
  readonly cursor?: string | undefined;
  readonly per_page?: string | undefined;
}

export interface Keyset {
  /** Rows below this number come next. */
  readonly before: number;
  /** One more than the page holds, which tells whether another page follows. */
  readonly limit: number;
}

/** `subject` names the listing and its reader; a cursor of another one is as broken as an invented one. */
export function keysetOf(exchange: Exchange, subject: string, asked: Asked): Keyset {
  return { before: placeOf(exchange, subject, asked.cursor), limit: sizeOf(asked.per_page) + 1 };
}

export interface ListMeta {
  readonly has_more: boolean;
  readonly page_count: number;
  readonly next_cursor: string | null;
  readonly request_id: string;
}

export function listPage<Row extends { readonly no: number }>(
  exchange: Exchange,
  subject: string,
  keyset: Keyset,
  rows: readonly Row[],
  present: (row: Row) => unknown,
): { readonly data: readonly unknown[]; readonly meta: ListMeta } {
  const page = rows.slice(0, keyset.limit - 1);
  const last = page.at(-1);
  const more = rows.length > page.length && last !== undefined;
  return {
    data: page.map(present),
    meta: {
      has_more: more,
      page_count: page.length,
      next_cursor: more ? write(exchange, subject, last.no) : null,
      request_id: exchange.requestId,
    },
  };
}

/** Above 100 is capped; zero, negative and anything that is no number fall back to the default. */
function sizeOf(text: string | undefined): number {
  const size = /^\d{1,9}$/.test(text ?? '') ? Number(text) : 0;
  return size === 0 ? perPage.default : Math.min(size, perPage.max);
}

function placeOf(exchange: Exchange, subject: string, cursor: string | undefined): number {
  if (cursor === undefined) return Number.MAX_SAFE_INTEGER;
  const bytes = Buffer.from(cursor, 'base64url');
  const place = bytes.subarray(0, 8);
  const genuine =
    bytes.length === 24 &&
    bytes.toString('base64url') === cursor &&
    timingSafeEqual(bytes.subarray(8), seal(exchange, subject, place));
  if (genuine) return Number(place.readBigUInt64BE(0));
  throw invalidFields([
    { field: 'cursor', code: 'invalid', message: 'cursor: not a next_cursor of this listing.' },
  ]);
}

function write(exchange: Exchange, subject: string, no: number): string {
  const place = Buffer.alloc(8);
  place.writeBigUInt64BE(BigInt(no), 0);
  return Buffer.concat([place, seal(exchange, subject, place)]).toString('base64url');
}

function seal(exchange: Exchange, subject: string, place: Buffer): Buffer {
  const key = one<{ cursor_key: Buffer }>(exchange.services.state, 'SELECT cursor_key FROM feed')?.cursor_key;
  if (key === undefined) throw new Error('the feed has no row: the world was never seeded');
  return createHmac('sha256', key).update(`list:${subject}\0`).update(place).digest().subarray(0, 16);
}
