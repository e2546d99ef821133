import { Fault } from '../domain/fault.js';
import { type Instant, parseInstant } from '../domain/instant.js';
import type { FeedItem } from '../domain/investment.js';
import { storableText } from '../domain/text.js';
import type { FeedPage } from '../sync/ports.js';
import { pageItemsMin } from './fetch/body-limits.js';
import { parseInvestment } from './parse-investment.js';
import { rawItems } from './raw-items.js';

/**
 * A page of the feed, or `contract_broken` naming what is wrong with it. One bad record does not spoil its page:
 * it is set aside with its own piece of `text`, the page as sent. Records are parsed when they are asked for, which
 * is after the next page was.
 */
export function parsePage(body: unknown, text: string, perPage: number = pageItemsMin): FeedPage {
  const page = asObject(body) ?? broken('the body is not an object');
  const { data } = page;
  if (!Array.isArray(data)) broken('`data` is not an array');
  const itemsMax = pageItemsMax(perPage);
  if (data.length > itemsMax)
    broken(`${perPage} records were asked for, ${data.length} came, and more than ${itemsMax} are not taken`);
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
 * Twice of what was asked for. A deployment that takes no `per_page` sends its own size, at most the largest there is;
 * each record costs a write, so the length of a page bounds how long the commit of one takes.
 */
const pageItemsMax = (perPage: number): number => 2 * Math.max(perPage, pageItemsMin);

/** Once its items were asked for, a page holds them and nothing else: what arrived is ten times as large. */
export class UnreadPage implements FeedPage {
  readonly mode: FeedPage['mode'];
  readonly size: number;
  readonly hasMore: boolean;
  readonly next: string;
  readonly publishedThrough: Instant | null;
  #items: FeedPage['items'] | (() => FeedPage['items']);

  constructor(envelope: Omit<FeedPage, 'items'>, read: () => FeedPage['items']) {
    this.mode = envelope.mode;
    this.size = envelope.size;
    this.hasMore = envelope.hasMore;
    this.next = envelope.next;
    this.publishedThrough = envelope.publishedThrough;
    this.#items = read;
  }

  get items(): FeedPage['items'] {
    if (typeof this.#items === 'function') this.#items = this.#items();
    return this.#items;
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

function modeOf(value: unknown): FeedPage['mode'] {
  if (value === 'bootstrap') return 'listing';
  if (value === 'delta') return 'delta';
  return broken('`meta.mode` is neither "bootstrap" nor "delta"');
}

/** Older deployments number their cursors; as text they are passed back just as unchanged. */
function nextOf(value: unknown): string {
  if (Number.isSafeInteger(value)) return String(value);
  if (typeof value !== 'string' || value === '') return broken('`meta.next_cursor` is missing');
  return isPosition(value)
    ? value
    : broken(`\`meta.next_cursor\` is not text of at most ${positionLengthMax} characters`);
}

/** It goes into a URL, which servers refuse from 8 KB on: a stored position that cannot be asked for halts its source. */
const positionLengthMax = 4_096;

/** Whether a cursor can be stored and sent back as it came. */
export function isPosition(value: string): boolean {
  return value !== '' && value.length <= positionLengthMax && storableText(value) === value;
}

/** Absent on the deprecated alias, null when nothing was published yet. */
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
