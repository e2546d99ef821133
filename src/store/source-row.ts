import type { Selectable } from 'kysely';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { FeedPage } from '../sync/ports.js';
import type { ActiveState, LeasesTable, ListingsTable, SourcesTable, SweepsTable } from './schema.js';

export type SourceRow = Selectable<SourcesTable>;
export type ListingRow = Selectable<ListingsTable>;
export type SweepRow = SweepsTable;
export type LeaseRow = Omit<LeasesTable, 'source_no'>;

/** Everything of a source that a write may move; its number and name never do. */
export const sourceColumns = [
  'fingerprint',
  'state',
  'cursor',
  'cursor_saved_at',
  'published_through',
  'generation',
  'listed_at',
  'listed_seq',
  'rows_held',
  'rows_incoming',
  'pages_incoming',
  'quarantined',
  'identity_included',
  'last_tick_at',
  'last_success_at',
  'last_outcome',
  'last_error_code',
  'last_error',
  'last_error_at',
  'retry_at',
  'last_committed_at',
  'last_listing_at',
  'listing_restarts',
  'halted_from',
  'halted_code',
  'halted_message',
  'halted_at',
] as const satisfies readonly (keyof SourceRow)[];

/** The wall clock may go back; a source's commits do not, or as-of would answer two versions at once. */
export function notBefore(source: SourceRow, now: number): Instant {
  const instant = instantFromMillis(now);
  const last = source.last_committed_at as Instant | null;
  return last !== null && last > instant ? last : instant;
}

/** What the platform names on a page is how far its feed reaches: read that far is the last page alone. */
export function markReadThrough(source: SourceRow, { hasMore, publishedThrough }: FeedPage): void {
  if (!hasMore && publishedThrough !== null) source.published_through = publishedThrough;
}

/** Whoever moves a source also ends its halt. */
export function moveTo(source: SourceRow, state: ActiveState): void {
  source.state = state;
  source.halted_from = null;
  source.halted_code = null;
  source.halted_message = null;
  source.halted_at = null;
}
