import type { Instant } from '../domain/instant.js';
import type { FeedItem } from '../domain/investment.js';
import type { Cursor } from '../domain/position.js';
import type { Applied, Brake, BrakePolicy, FeedPage, ListingStart } from '../sync/ports.js';
import { namesListed } from './identity-grant.js';
import type { RecordItem } from './page-facts.js';
import { type ListingRow, moveTo, type SourceRow, type SweepRow } from './source-row.js';

/*
 * The lifecycle of a listing, the same for both databases: begun, one page after the other, published. Each function
 * changes only the source row it is given, which the commit saves, and returns the row or the plan that the dialect
 * writes.
 */

/** Starts a listing and returns its row. Throws when a listing of this kind does not fit the source. */
export function startListing(source: SourceRow, start: ListingStart, at: Instant): ListingRow {
  if ((start.kind === 'first') !== (source.listed_at === null))
    throw new Error(`a ${start.kind} listing does not fit a source that is ${source.state}`);
  source.generation += 1;
  source.fingerprint = start.fingerprint;
  clearIncoming(source);
  moveTo(source, stateOf(start));
  return {
    source_no: source.no,
    kind: start.kind,
    generation: source.generation,
    started_at: at,
    restarts: start.restarts,
    not_before: start.notBefore,
    token: null,
    low_mark: null,
    pages: 0,
    rows: 0,
    final: null,
    would_remove: null,
  };
}

/** Returns the row of the listing after a page that added `added` rows. */
export function withPage(source: SourceRow, listing: ListingRow, page: FeedPage, added: number): ListingRow {
  const rows = listing.rows + added;
  const pages = listing.pages + 1;
  source.rows_incoming = rows;
  source.pages_incoming = pages;
  source.rows_expected = page.rowsExpected ?? source.rows_expected;
  moveTo(source, stateOf(listing));
  const { hasMore, next } = page;
  return {
    ...listing,
    token: hasMore ? next : null,
    final: hasMore ? null : next,
    low_mark: listing.pages === 0 ? page.publishedThrough : listing.low_mark,
    pages,
    rows,
  };
}

/** What a page of a re-listing changes in the stage. The order of `stage` becomes the order of the change feed. */
export interface StagePlan<Row> {
  /** Numbers of stored rows that the page named, and of rows that it named as removed. */
  readonly seen: readonly number[];
  readonly noLongerSeen: readonly number[];
  /** Ids whose staged version, if any, no longer counts. To be applied before `stage`. */
  readonly unstage: readonly string[];
  readonly stage: readonly { readonly record: RecordItem; readonly stored: Row | undefined }[];
  /** The number of readable records on the page. */
  readonly named: number;
}

/** A listing with an unreadable tombstone counts as if it lacked the record. */
const isNamed = (item: FeedItem): boolean => item.kind !== 'rejected' || item.erases !== 'tombstone';

/** Compares a page of a re-listing with the stored rows. The latest entry for an id counts. */
export function planStage<Row extends { readonly rowNo: number }>(
  items: readonly FeedItem[],
  storedOf: (id: string) => Row | undefined,
  differs: (stored: Row, record: RecordItem) => boolean,
): StagePlan<Row> {
  const seen = new Set<number>();
  const noLongerSeen: number[] = [];
  const unstage = new Set<string>();
  const stage = new Map<string, { readonly record: RecordItem; readonly stored: Row | undefined }>();
  let named = 0;
  // A record that is unstaged and then named again goes to the end.
  const drop = (id: string) => {
    stage.delete(id);
    unstage.add(id);
  };
  for (const item of items.filter(isNamed)) {
    const id = item.kind === 'record' ? item.investment.id : item.id;
    const stored = id === null ? undefined : storedOf(id);
    if (item.kind === 'tombstone') {
      if (stored !== undefined) {
        seen.delete(stored.rowNo);
        noLongerSeen.push(stored.rowNo);
      }
      drop(item.id);
      continue;
    }
    // An unreadable record still exists on the platform: its stored version stays.
    if (stored !== undefined) seen.add(stored.rowNo);
    if (item.kind === 'rejected') continue;
    named += 1;
    if (stored === undefined || differs(stored, item))
      stage.set(item.investment.id, { record: item, stored });
    else drop(item.investment.id);
  }
  return { seen: [...seen], noLongerSeen, unstage: [...unstage], stage: [...stage.values()], named };
}

/** Throws unless the listing is complete and `final` is its own last position. */
export function checkComplete(listing: ListingRow, final: Cursor): void {
  if (listing.final !== final)
    throw new Error('only a complete listing is published, with its own final cursor');
}

/**
 * Returns the counts when a re-listing that does not name `unseen` of the stored rows would delete more than the policy
 * allows, or when any of them may be one of its `unidentified` entries, whose id could not be read. Returns null otherwise,
 * and when the deletions were accepted.
 */
export function brakeOf(
  { rows_held: held }: SourceRow,
  { unseen, unidentified }: { readonly unseen: number; readonly unidentified: boolean },
  { share, rows, accepted }: BrakePolicy,
): Brake | null {
  const tooMany = unseen > share * held && unseen >= rows;
  const unsure = unseen > 0 && unidentified;
  return (tooMany || unsure) && !accepted ? { wouldRemove: unseen, held } : null;
}

/** Returns what a re-listing changed for readers, given the number of rows before it. */
export function relisted(counted: Applied, rowsBefore: number): Applied {
  return { ...counted, unchanged: rowsBefore - counted.changed - counted.removed };
}

/** Ends a published listing. Returns the row of the sweep that follows it. */
export function endListing(source: SourceRow, listing: ListingRow, final: Cursor, now: Instant): SweepRow {
  clearIncoming(source);
  source.cursor = final;
  source.cursor_saved_at = now;
  source.published_through = listing.low_mark;
  source.last_listing_at = now;
  source.listing_restarts = listing.restarts;
  namesListed(source, listing.generation);
  moveTo(source, 'sweeping');
  return { source_no: source.no, since: listing.low_mark, cursor: final, reached: null };
}

function clearIncoming(source: SourceRow): void {
  source.rows_incoming = 0;
  source.pages_incoming = 0;
  source.rows_expected = null;
}

const stateOf = ({ kind }: Pick<ListingRow, 'kind'>) => (kind === 'first' ? 'listing' : 'relisting');
