import { justBefore } from '../../../domain/instant.js';
import type { Cursor } from '../../../domain/position.js';
import {
  type Applied,
  type Brake,
  type BrakePolicy,
  type FeedPage,
  type ListingProgress,
  type ListingStart,
  nothingApplied,
} from '../../../sync/ports.js';
import { namedBy } from '../../awaiting-deletion.js';
import { brakeOn } from '../../brake.js';
import { namesListed } from '../../identity-grant.js';
import { lastOfEach, type RecordItem } from '../../plan-page.js';
import { recordValues } from '../../record-columns.js';
import type { ListingRow } from '../../source-row.js';
import { listingProgress } from '../../standing.js';
import type { Commit } from './commit.js';
import { buildIdIndex } from './indexes.js';
import { createCountingTriggers, dropCountingTriggers, recomputeTotals } from './kept-totals.js';
import { sameAsStored } from './same-as-stored.js';
import { removeAwaiting, swapIn } from './swap.js';

export function beginListing(commit: Commit, start: ListingStart): ListingProgress {
  const { statements, source } = commit;
  if ((start.kind === 'first') !== (source.listed_at === null))
    throw new Error(`a ${start.kind} listing does not fit a source that is ${source.state}`);
  discardListing(commit);
  // Rows of an abandoned first listing were never visible.
  if (start.kind === 'first') {
    statements.deleteRows.run(source.no);
    dropCountingTriggers(statements.raw);
  }
  // Entries in quarantine now are older than this listing, whatever the clock says.
  if (source.quarantined > 0)
    statements.quarantineSeenBefore.run(justBefore(commit.at), source.no, commit.at);
  source.generation += 1;
  source.fingerprint = start.fingerprint;
  commit.moveTo(start.kind === 'first' ? 'listing' : 'relisting');
  statements.insertListing.run(
    source.no,
    start.kind,
    source.generation,
    start.restarts,
    start.notBefore,
    commit.at,
  );
  return listingProgress(expectListing(commit));
}

export function addListingPage(
  commit: Commit,
  received: FeedPage,
): { progress: ListingProgress; applied: Applied } {
  const { statements, source } = commit;
  const listing = expectListing(commit);
  const erases = received.items.some(
    (item) => item.kind === 'tombstone' || (item.kind === 'rejected' && item.erases !== undefined),
  );
  if (erases) buildIdIndex(statements.raw);
  const page = { ...received, items: commit.receive(received.items) };
  commit.unmark(namedBy(page.items, 'listing'));
  const rows =
    listing.rows +
    (listing.kind === 'first' ? addFirst(commit, page) : addRelisted(commit, page, listing.pages));
  const pages = listing.pages + 1;
  const lowMark = listing.pages === 0 ? page.publishedThrough : listing.low_mark;
  const [token, final] = page.hasMore ? [page.next, null] : [null, page.next];
  statements.advanceListing.run(token, final, lowMark, pages, rows, source.no);
  const quarantined = commit.recordAnomalies(page.items);
  source.rows_incoming = rows;
  source.pages_incoming = pages;
  commit.moveTo(listing.kind === 'first' ? 'listing' : 'relisting');
  return { progress: listingProgress(expectListing(commit)), applied: { ...nothingApplied, quarantined } };
}

/**
 * Inserts a page of a first listing without reading stored rows first: the hot path. Returns the number of rows added.
 * Until ids are indexed, a record named twice has two rows; `buildIndexes` keeps the later one.
 */
function addFirst(commit: Commit, page: FeedPage): number {
  const { statements, source } = commit;
  let added = 0;
  for (const item of lastOfEach(page.items)) {
    if (item.kind === 'tombstone') added -= statements.deleteListed.run(source.no, item.id).changes;
    else {
      const values = recordValues(item.investment);
      const { changes, lastInsertRowid } = statements.insertListed.run(
        source.no,
        item.investment.id,
        ...values,
      );
      added += changes;
      if (changes === 1) commit.putIdentity(lastInsertRowid, item.identity);
      else replaceListed(commit, item, values);
    }
  }
  return added;
}

/** Replaces row and identity of an id that the same listing named before: the later entry counts. */
function replaceListed(
  commit: Commit,
  { investment, identity }: RecordItem,
  values: readonly unknown[],
): void {
  const { statements, source } = commit;
  const rowNo = statements.updateListed.get(...values, source.no, investment.id);
  if (rowNo === undefined) throw new Error('a listed record was neither inserted nor found');
  statements.deleteIdentity.run(rowNo);
  commit.putIdentity(rowNo, identity);
}

/** Remembers which stored rows the page named and stages records that differ from them. Returns how many it named. */
function addRelisted(commit: Commit, page: FeedPage, pageNo: number): number {
  const { statements, source } = commit;
  const seen = new Set<number>();
  let staged = statements.anyStaged.get(source.no) !== undefined;
  let named = 0;
  for (const item of page.items) {
    const id = item.kind === 'record' ? item.investment.id : item.id;
    const stored = id === null ? undefined : statements.storedForComparison.get(source.no, id);
    const rowNo = stored?.[0];
    if (item.kind === 'tombstone') {
      if (rowNo !== undefined) {
        seen.delete(rowNo);
        statements.forgetSeen.run(rowNo, source.no, rowNo);
      }
      statements.unstage.run(source.no, item.id);
      continue;
    }
    // An unreadable record still exists on the platform: its stored version stays.
    if (rowNo !== undefined) seen.add(rowNo);
    if (item.kind === 'rejected') continue;
    named += 1;
    if (stored === undefined || !sameAsStored(stored, item)) {
      const { investment, identity } = item;
      statements.stage.run(
        source.no,
        investment.id,
        rowNo ?? null,
        identity === null ? null : JSON.stringify(identity),
        ...recordValues(investment),
      );
      staged = true;
    } else if (staged) {
      // An earlier page may have staged a version that this one reverts.
      statements.unstage.run(source.no, item.investment.id);
    }
  }
  statements.rememberSeen.run(source.no, pageNo, JSON.stringify([...seen]));
  return named;
}

export function publishListing(
  commit: Commit,
  final: Cursor,
  policy: BrakePolicy,
  totalsDiffer: boolean,
): { applied: Applied; brake: Brake | null } {
  const { statements, source } = commit;
  const listing = expectListing(commit);
  if (listing.final !== final)
    throw new Error('only a complete listing is published, with its own final cursor');
  const result = listing.kind === 'first' ? publishFirst(commit) : publishRelisted(commit, policy);
  if (totalsDiffer) recomputeTotals(statements.raw, source.no);
  // Resolves entries that were last seen before this listing began.
  if (source.quarantined > 0) {
    statements.resolveQuarantineBefore.run(commit.at, source.no, listing.started_at);
    source.quarantined = statements.countQuarantine.get(source.no) ?? 0;
  }
  discardListing(commit);
  statements.putSweep.run(source.no, listing.low_mark, final);
  source.cursor = final;
  source.cursor_saved_at = commit.now;
  source.published_through = listing.low_mark;
  source.last_listing_at = commit.now;
  source.listing_restarts = listing.restarts;
  namesListed(source, listing.generation);
  commit.moveTo('sweeping');
  return result;
}

export function deleteAwaiting(commit: Commit): Applied {
  removeAwaiting(commit);
  commit.unmarkAll();
  return commit.applied(0, 0);
}

/** Rewrites no row: the time and change number that all rows share are stored in the source row. */
function publishFirst(commit: Commit): { applied: Applied; brake: null } {
  const { statements, source } = commit;
  createCountingTriggers(statements.raw);
  source.listed_seq = commit.snapshot();
  source.listed_at = commit.at;
  source.rows_held = statements.countRows.get(source.no) ?? 0;
  return { applied: { ...nothingApplied, added: source.rows_held }, brake: null };
}

/** Publishes a re-listing. Rows it did not name are deleted or, if the brake engages, marked as awaiting deletion. */
function publishRelisted(commit: Commit, policy: BrakePolicy): { applied: Applied; brake: Brake | null } {
  const { statements, source } = commit;
  const rowsBefore = source.rows_held;
  const absent = statements.countUnseen.get(source.no, source.no) ?? 0;
  const brake = brakeOn(policy, { wouldRemove: absent, held: rowsBefore });
  // Before new rows are inserted: the pages could not record the row numbers of those as seen.
  if (brake !== null) commit.markUnseen();
  else if (source.awaiting_deletion > 0) commit.unmarkAll();
  swapIn(commit, { removesUnseen: brake === null });
  const { changed, removed } = commit.applied(0, 0);
  return { applied: commit.applied(rowsBefore - changed - removed, 0), brake };
}

function discardListing({ statements, source }: Commit): void {
  statements.deleteStaged.run(source.no);
  statements.deleteSeen.run(source.no);
  statements.deleteListing.run(source.no);
  statements.deleteSweep.run(source.no);
  source.rows_incoming = 0;
  source.pages_incoming = 0;
}

function expectListing({ statements, source }: Commit): ListingRow {
  const listing = statements.listing.get(source.no);
  if (listing === undefined) throw new Error(`source ${source.name} has no listing under way`);
  return listing;
}
