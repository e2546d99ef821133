import type { FeedItem } from '../domain/investment.js';
import type { Applied, Lease } from '../sync/ports.js';

/** Writes records that were read outside of the feed's order. */
export interface Rereading {
  /**
   * Replaces stored records that differ from `items`, in one commit. The position in the feed does not move, and nothing
   * is deleted. The source must have been listed. Throws as `Mirror.applyPage`.
   */
  reread(lease: Lease, items: readonly FeedItem[]): Promise<Applied>;
}

/** Returns the readable and unreadable records. Deletions are left to the feed, which reports them in order. */
export const withoutTombstones = (items: readonly FeedItem[]): readonly FeedItem[] =>
  items.filter((item) => item.kind === 'record' || (item.kind === 'rejected' && item.erases !== 'tombstone'));
