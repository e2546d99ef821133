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
  'awaiting_deletion',
  'rows_incoming',
  'pages_incoming',
  'quarantined',
  'identity_included',
  'names_from_generation',
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

/**
 * The two times of a commit. They differ only after the wall clock went back, for example when a jump forward was
 * corrected. Versions and changes take `at`: within a source it never goes back, or as-of would return two versions at
 * once. Everything that is later compared with the wall clock (the last tick, the age of the cursor, when a notice is
 * due, since when an erasure waits) takes `now`: one written under a clock that was ahead is replaced by the next.
 */
export interface CommitTimes {
  readonly at: Instant;
  readonly now: Instant;
}

export function commitTimes(source: SourceRow, nowMillis: number): CommitTimes {
  const now = instantFromMillis(nowMillis);
  const last = source.last_committed_at as Instant | null;
  return { at: last !== null && last > now ? last : now, now };
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
