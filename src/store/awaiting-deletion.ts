import type { FeedItem } from '../domain/investment.js';
import type { PageFacts } from './page-facts.js';

/**
 * Returns the ids whose awaiting-deletion mark a page removes. A record on the page, readable or not, proves that the
 * platform still has it. A tombstone from the feed deletes the row together with its mark. A tombstone in a listing,
 * and an unreadable tombstone in either mode, only confirm that the record is missing: the row and its mark stay.
 */
export function namedBy({ mentions }: PageFacts, mode: 'listing' | 'delta'): readonly string[] {
  return [...mentions].flatMap(([id, item]) => (keepsMark(item, mode) ? [] : [id]));
}

function keepsMark(item: FeedItem, mode: 'listing' | 'delta'): boolean {
  if (item.kind === 'rejected') return item.erases === 'tombstone';
  return item.kind === 'tombstone' && mode === 'listing';
}
