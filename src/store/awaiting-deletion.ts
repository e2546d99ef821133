import type { FeedItem } from '../domain/investment.js';

/**
 * Returns the ids whose awaiting-deletion mark a page removes. A record on the page, readable or not, proves that the
 * platform still has it. A tombstone from the feed deletes the row together with its mark. A tombstone in a listing,
 * and an unreadable tombstone in either mode, only confirm that the record is missing: the row and its mark stay.
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
