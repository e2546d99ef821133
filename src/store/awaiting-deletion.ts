import type { FeedItem } from '../domain/investment.js';
import type { PageFacts } from './page-facts.js';

/**
 * Returns the ids whose awaiting-deletion mark a page removes. A record on the page, readable or not, proves that the
 * platform still has it. A tombstone from the feed deletes the row together with its mark. A tombstone in a listing,
 * and an unreadable tombstone in either mode, only confirm that the record is missing: the row and its mark stay.
 */
export function namedBy({ mentions, latest }: PageFacts, mode: 'listing' | 'delta'): readonly string[] {
  return [...mentions].flatMap(([id, item]) => {
    // Before an unreadable tombstone, the feed's page may have a readable entry: that one was applied.
    const last = item.kind === 'rejected' && mode === 'delta' ? (readableIn(latest, id) ?? item) : item;
    return keepsMark(last, mode) ? [] : [id];
  });
}

function readableIn(latest: PageFacts['latest'], id: string): FeedItem | undefined {
  return latest.find((item) => (item.kind === 'record' ? item.investment.id : item.id) === id);
}

function keepsMark(item: FeedItem, mode: 'listing' | 'delta'): boolean {
  if (item.kind === 'rejected') return item.erases === 'tombstone';
  return item.kind === 'tombstone' && mode === 'listing';
}
