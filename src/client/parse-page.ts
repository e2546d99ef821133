import { Fault } from '../domain/fault.js';
import { type Instant, parseInstant } from '../domain/instant.js';
import type { FeedItem } from '../domain/investment.js';
import { storableText } from '../domain/text.js';
import type { FeedPage, PageEnvelope, ReceivedPage } from '../sync/ports.js';
import { pageItemsMin } from './fetch/body-limits.js';
import { parseInvestment } from './parse-investment.js';
import { rawItems } from './raw-items.js';

/**
 * Returns a page of the feed. Throws `contract_broken` with the problem. A malformed record does not fail its page:
 * it is rejected together with its own piece of `text`, the page as sent. Records are parsed by `parse`, after the next
 * page was requested.
 */
export function parsePage(body: unknown, text: string, perPage: number = pageItemsMin): ReceivedPage {
  const page = asObject(body) ?? broken('the body is not an object');
  const { data } = page;
  if (!Array.isArray(data)) broken('`data` is not an array');
  const itemsMax = pageItemsMax(perPage);
  if (data.length > itemsMax)
    broken(`${perPage} records were asked for, ${data.length} came, and at most ${itemsMax} are accepted`);
  const meta = asObject(page.meta) ?? broken('`meta` is missing');
  if (typeof meta.has_more !== 'boolean') broken('`meta.has_more` is not true or false');
  const envelope = {
    mode: modeOf(meta.mode),
    size: data.length,
    hasMore: meta.has_more,
    next: nextOf(meta.next_cursor),
    publishedThrough: momentOf(meta.published_through),
  };
  return new UnreadPage(envelope, () => itemsOf(data, text));
}

/**
 * Twice the requested size. A deployment that ignores `per_page` sends its own size, at most the largest one. Each
 * record costs a write, so the page size bounds the duration of a commit.
 */
const pageItemsMax = (perPage: number): number => 2 * Math.max(perPage, pageItemsMin);

/** A page whose entries `read` parses, once: the response, ten times as large as they are, is then released. */
export class UnreadPage implements ReceivedPage {
  readonly mode: PageEnvelope['mode'];
  readonly size: number;
  readonly hasMore: boolean;
  readonly next: string;
  readonly publishedThrough: Instant | null;
  #read: (() => FeedPage['items']) | null;
  #parsed: FeedPage | null = null;

  constructor({ mode, size, hasMore, next, publishedThrough }: PageEnvelope, read: () => FeedPage['items']) {
    this.mode = mode;
    this.size = size;
    this.hasMore = hasMore;
    this.next = next;
    this.publishedThrough = publishedThrough;
    this.#read = read;
  }

  parse(): FeedPage {
    if (this.#parsed === null) {
      const { mode, size, hasMore, next, publishedThrough } = this;
      const items = this.#read?.() ?? [];
      this.#parsed = { mode, size, hasMore, next, publishedThrough, items };
      this.#read = null;
    }
    return this.#parsed;
  }
}

function itemsOf(data: readonly unknown[], text: string): readonly FeedItem[] {
  let raw: readonly string[] | undefined;
  return data.map((item, index) =>
    parseInvestment(item, () => {
      raw ??= rawItems(text);
      return storableText(raw[index] ?? '');
    }),
  );
}

function modeOf(value: unknown): PageEnvelope['mode'] {
  if (value === 'bootstrap') return 'listing';
  if (value === 'delta') return 'delta';
  return broken('`meta.mode` is neither "bootstrap" nor "delta"');
}

/** Older deployments use numeric cursors. As text they are sent back unchanged too. */
function nextOf(value: unknown): string {
  if (Number.isSafeInteger(value)) return String(value);
  if (typeof value !== 'string' || value === '') return broken('`meta.next_cursor` is missing');
  return isPosition(value)
    ? value
    : broken(`\`meta.next_cursor\` is not text of at most ${positionLengthMax} characters`);
}

/**
 * A cursor is part of a URL, which servers reject from 8 KB on. A stored cursor that cannot be requested would halt
 * its source.
 */
const positionLengthMax = 4_096;

/** Returns whether a cursor can be stored and sent back unchanged. */
export function isPosition(value: string): boolean {
  return value !== '' && value.length <= positionLengthMax && storableText(value) === value;
}

/** Absent on the deprecated alias, null while nothing is published yet. */
function momentOf(value: unknown): Instant | null {
  if (value === undefined || value === null) return null;
  return parseInstant(value) ?? broken('`meta.published_through` is not a timestamp');
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

function broken(what: string): never {
  throw new Fault('contract_broken', `a page of investments is not what the contract says: ${what}`, {
    hint: 'is `platform.baseUrl` the address of the API?',
  });
}
