import type { FeedItem } from '../domain/investment.js';

/**
 * Returns the ids whose mark a page takes back: what it names is there, readable or not. A tombstone of the feed takes
 * the row and its mark along; in a listing it only says once more that the record is gone, and so does one that nobody
 * can read, whose row stays.
 */
export function namedBy(items: readonly FeedItem[], mode: 'listing' | 'delta'): readonly string[] {
  const last = new Map<string, FeedItem>();
  for (const item of items) {
    const id = item.kind === 'record' ? item.investment.id : item.id;
    if (id !== null) last.set(id, item);
  }
  return [...last].flatMap(([id, item]) => (keepsMark(item, mode) ? [] : [id]));
}

function keepsMark(item: FeedItem, mode: 'listing' | 'delta'): boolean {
  if (item.kind === 'rejected') return item.erases === 'tombstone';
  return item.kind === 'tombstone' && mode === 'listing';
}
