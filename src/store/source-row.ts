import type { Selectable } from 'kysely';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { FeedPage } from '../sync/ports.js';
import type { LeasesTable } from './operating-schema.js';
import type { ListingsTable, SourcesTable, SweepsTable } from './schema.js';
import type { ActiveState } from './schema-columns.js';

export type SourceRow = Selectable<SourcesTable>;
export type ListingRow = Selectable<ListingsTable>;
export type SweepRow = SweepsTable;
export type LeaseRow = Omit<LeasesTable, 'source_no'>;

/** The columns of a source that a write can change. The number and the name never change. */
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
  'rows_expected',
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
 * The two timestamps of a commit. They differ only after the wall clock moved backwards, for example when a jump
 * forward was corrected. Versions and changes use `at`, which never decreases within a source; otherwise an as-of query
 * would return two versions. Everything later compared with the wall clock uses `now`: the last tick, the age of the
 * cursor, when a notice is due, how long an erasure waits. A value written under a clock that was ahead is replaced by
 * the next.
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

/** `publishedThrough` says how far the platform's feed reaches, so it applies only once the last page is read. */
export function markReadThrough(source: SourceRow, { hasMore, publishedThrough }: FeedPage): void {
  if (!hasMore && publishedThrough !== null) source.published_through = publishedThrough;
}

/** Sets the state and ends a halt. */
export function moveTo(source: SourceRow, state: ActiveState): void {
  source.state = state;
  source.halted_from = null;
  source.halted_code = null;
  source.halted_message = null;
  source.halted_at = null;
}
