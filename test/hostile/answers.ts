import { gzipSync } from 'node:zlib';
import { deltaPage, tombstone, wholeRecord } from '../client/fixtures.js';

/* What a hostile platform is made of: pages of the feed, put together by hand so that they can be wrong. */

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** Sent in pieces of so many bytes, each a chunk of its own. */
  readonly chunk?: number;
  /** Cuts the connection behind the body. */
  readonly cut?: boolean;
  /** Instead of an answer: these bytes, and the end of the connection. */
  readonly raw?: string | Buffer;
  /** So many 103 come first. */
  readonly hints?: number;
}

/** What was asked for, as far as an answer depends on it. */
export interface Asked {
  readonly mode: 'bootstrap' | 'delta';
  readonly cursor: string;
}

const sample = { record: wholeRecord(), tombstone: tombstone(), meta: deltaPage().meta };

export const meta = (asked: Asked, more: Readonly<Record<string, unknown>> = {}) => ({
  ...sample.meta,
  mode: asked.mode,
  has_more: false,
  next_cursor: asked.mode === 'bootstrap' ? 'c_listed' : 'c_read',
  ...more,
});

export const json = (value: unknown, more: Partial<Answer> = {}): Answer => ({
  headers: { 'content-type': 'application/json', ...more.headers },
  ...more,
  body: typeof value === 'string' ? value : JSON.stringify(value),
});

/** A page as it should be, of these entries. */
export const page = (asked: Asked, data: unknown, more: Readonly<Record<string, unknown>> = {}): Answer =>
  json({ data, meta: meta(asked, more) });

/** The text of a page around a text that stands for its entries: JSON nobody would get out of an object. */
export const pageText = (asked: Asked, data: string): string =>
  `{"data":${data},"meta":${JSON.stringify(meta(asked))}}`;

export const zipped = (text: string): Answer => ({
  headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  body: gzipSync(text),
});

export const record = (
  no: number,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> => ({
  ...sample.record,
  id: `inv_h${no}`,
  ...more,
});

export const amounts = (more: Readonly<Record<string, unknown>>) => ({
  amounts: { ...(sample.record.amounts as object), ...more },
});

export const grave = (no: number): Record<string, unknown> => ({ ...sample.tombstone, id: `inv_h${no}` });

export const times = <Item>(count: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => make(at));

/** An object of so many fields, each of another name. */
export const fields = (count: number, prefix = 'f'): Record<string, unknown> =>
  Object.fromEntries(times(count, (at) => [`${prefix}${at}`, 0]));

/** The text of a record with these further texts of fields in front, which may repeat or be no JSON. */
export const recordText = (no: number, text: string): string =>
  `{${text},${JSON.stringify(record(no)).slice(1)}`;

export const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
