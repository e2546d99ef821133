import { gzipSync } from 'node:zlib';
import { deltaPage, tombstone, wholeRecord } from '../client/fixtures.js';

/* The parts of a hostile platform: feed pages built by hand so that they can be invalid. */

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** Sent in pieces of this many bytes, each its own chunk. */
  readonly chunk?: number;
  /** Cuts the connection after the body. */
  readonly cut?: boolean;
  /** Instead of a response: these bytes, then the end of the connection. */
  readonly raw?: string | Buffer;
  /** Sends this many 103 responses first. */
  readonly hints?: number;
}

/** The request, as far as a response depends on it. */
export interface FeedRequest {
  readonly mode: 'bootstrap' | 'delta';
  readonly cursor: string;
}

const sample = { record: wholeRecord(), tombstone: tombstone(), meta: deltaPage().meta };

export const meta = (asked: FeedRequest, more: Readonly<Record<string, unknown>> = {}) => ({
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

/** A valid page with these entries. */
export const page = (
  asked: FeedRequest,
  data: unknown,
  more: Readonly<Record<string, unknown>> = {},
): Answer => json({ data, meta: meta(asked, more) });

/** The text of a page around given text for its entries: JSON that no object serializes to. */
export const pageText = (asked: FeedRequest, data: string): string =>
  `{"data":${data},"meta":${JSON.stringify(meta(asked))}}`;

/**
 * A page around the text of its entries, compressed. The entries are built once for all requests: gzip allows several
 * members in a row.
 */
export const zippedPage = (data: () => string): ((asked: FeedRequest) => Answer) => {
  let entries: Buffer | undefined;
  return (asked) => {
    entries ??= gzipSync(data());
    const [before, after] = pageText(asked, '\n').split('\n') as [string, string];
    return {
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: Buffer.concat([gzipSync(before), entries, gzipSync(after)]),
    };
  };
};

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

/** An object with this many differently named fields. */
export const fields = (count: number, prefix = 'f'): Record<string, unknown> =>
  Object.fromEntries(times(count, (at) => [`${prefix}${at}`, 0]));

/** The text of a record, preceded by extra fields that may repeat or be invalid JSON. */
export const recordText = (no: number, text: string): string =>
  `{${text},${JSON.stringify(record(no)).slice(1)}`;

export const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
