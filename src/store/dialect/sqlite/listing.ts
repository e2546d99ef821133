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
import { countedBeforeDigest, uncountedDigest } from '../../anomaly-limits.js';
import { namedBy } from '../../awaiting-deletion.js';
import {
  brakeOf,
  checkComplete,
  endListing,
  planStage,
  relisted,
  startListing,
  withPage,
} from '../../listing-lifecycle.js';
import { type PageFacts, type RecordItem, readPage } from '../../page-facts.js';
import { listingProgress } from '../../phase.js';
import { recordValues } from '../../record-columns.js';
import type { ListingRow } from '../../source-row.js';
import type { Commit } from './commit.js';
import { comparedRow, differsFromRow } from './compared-row.js';
import { buildIdIndex } from './indexes.js';
import {
  type CountedTotals,
  createCountingTriggers,
  dropCountingTriggers,
  forgetCounting,
  outdateCounting,
  putTotals,
  recomputeTotals,
  totalsInCommit,
} from './kept-totals.js';
import type { Statements } from './statements.js';
import { removeAwaiting, swapIn } from './swap.js';

export function beginListing(commit: Commit, start: ListingStart): ListingProgress {
  const { statements, source } = commit;
  const listing = startListing(source, start, commit.at);
  discardListing(commit);
  // Rows of an abandoned first listing were never visible.
  if (start.kind === 'first') {
    statements.deleteRows.run(source.no);
    dropCountingTriggers(statements.raw);
    outdateCounting(statements.raw, source.no);
  }
  // Entries in quarantine now are older than this listing, whatever the clock says.
  if (source.quarantined > 0) {
    statements.quarantineSeenBefore.run(justBefore(commit.at), source.no, commit.at);
    statements.setOverflowAside.run(countedBeforeDigest, source.no, uncountedDigest);
  }
  statements.insertListing.run(
    source.no,
    listing.kind,
    listing.generation,
    listing.restarts,
    listing.not_before,
    listing.started_at,
  );
  return listingProgress(listing);
}

export function addListingPage(
  commit: Commit,
  page: FeedPage,
): { progress: ListingProgress; applied: Applied } {
  const { statements, source } = commit;
  const before = expectListing(commit);
  const received = readPage(page.items);
  if (received.removes) buildIdIndex(statements.raw);
  const facts = commit.receive(received);
  commit.unmark(namedBy(facts, 'listing'));
  const added = before.kind === 'first' ? addFirst(commit, facts) : addRelisted(commit, facts, before.pages);
  const listing = withPage(source, before, page, added);
  const { token, final, low_mark, pages, rows } = listing;
  statements.advanceListing.run(token, final, low_mark, pages, rows, source.no);
  const quarantined = commit.recordAnomalies(facts);
  return { progress: listingProgress(listing), applied: { ...nothingApplied, quarantined } };
}

/**
 * Inserts a page of a first listing without reading stored rows first: the hot path. Returns the number of rows added.
 * Until ids are indexed, a record named twice has two rows; `buildIndexes` keeps the later one.
 */
function addFirst(commit: Commit, { latest }: PageFacts): number {
  const { statements, source } = commit;
  let added = 0;
  for (const item of latest) {
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
function addRelisted(commit: Commit, { items }: PageFacts, pageNo: number): number {
  const { statements, source } = commit;
  const plan = planStage(
    items,
    (id) => comparedRow(statements.storedForComparison.get(source.no, id)),
    differsFromRow,
  );
  for (const rowNo of plan.noLongerSeen) statements.forgetSeen.run(rowNo, source.no, rowNo);
  // An earlier page may have staged a version that this one reverts.
  if (statements.anyStaged.get(source.no) !== undefined)
    for (const id of plan.unstage) statements.unstage.run(source.no, id);
  for (const { record, stored } of plan.stage) {
    const { investment, identity } = record;
    statements.stage.run(
      source.no,
      investment.id,
      stored?.rowNo ?? null,
      identity === null ? null : JSON.stringify(identity),
      ...recordValues(investment),
    );
  }
  statements.rememberSeen.run(source.no, pageNo, JSON.stringify(plan.seen));
  return plan.named;
}

/** What is computed before the commit that publishes a listing, because it takes as long as the source is large. */
export type PreparedListing =
  /** `totals`: those that were computed ahead; null where the commit computes them. */
  | { readonly kind: 'first'; readonly totals: CountedTotals | null }
  /** `unseen`: the numbers of the rows that no page named. */
  | { readonly kind: 'relist'; readonly unseen: readonly number[]; readonly totalsDiffer: boolean };

export function publishListing(
  commit: Commit,
  final: Cursor,
  policy: BrakePolicy,
  prepared: PreparedListing,
): { applied: Applied; brake: Brake | null } {
  const { statements, source } = commit;
  const listing = expectListing(commit);
  checkComplete(listing, final);
  if (listing.kind !== prepared.kind) throw new Error('another kind of listing was prepared for publication');
  const result =
    prepared.kind === 'first'
      ? publishFirst(commit, prepared.totals)
      : publishRelisted(commit, listing, policy, prepared);
  // Resolves entries that were last seen before this listing began.
  if (source.quarantined > 0) {
    statements.resolveQuarantineBefore.run(commit.at, source.no, listing.started_at);
    source.quarantined = statements.countQuarantine.get(source.no) ?? 0;
  }
  discardListing(commit);
  const sweep = endListing(source, listing, final, commit.now);
  statements.putSweep.run(source.no, sweep.since, sweep.cursor);
  return result;
}

export function deleteAwaiting(commit: Commit, rows?: number): Applied | null {
  if (rows !== undefined && commit.source.awaiting_deletion !== rows) return null;
  removeAwaiting(commit);
  commit.unmarkAll();
  return commit.applied(0, 0);
}

/**
 * Rewrites no row: the time and change number that all rows share are stored in the source row. Setting `listed_at` makes
 * the rows visible, and triggers compute their totals unless that was done before.
 */
function publishFirst(commit: Commit, ahead: CountedTotals | null): { applied: Applied; brake: null } {
  const { statements, source } = commit;
  const { raw } = statements;
  createCountingTriggers(raw);
  const totals = ahead ?? totalsInCommit(raw, source.no);
  if (totals !== null) putTotals(raw, source.no, totals);
  source.listed_seq = commit.snapshot();
  source.listed_at = commit.at;
  source.rows_held = (totals === null ? statements.countRows : statements.countInRounds).get(source.no) ?? 0;
  statements.list.run(source.listed_at, source.no);
  forgetCounting(raw, source.no);
  return { applied: { ...nothingApplied, added: source.rows_held }, brake: null };
}

/** Publishes a re-listing. Rows it did not name are deleted or, if the brake engages, marked as awaiting deletion. */
function publishRelisted(
  commit: Commit,
  { started_at }: ListingRow,
  policy: BrakePolicy,
  { unseen, totalsDiffer }: Extract<PreparedListing, { kind: 'relist' }>,
): { applied: Applied; brake: Brake | null } {
  const { statements, source } = commit;
  const rowsBefore = source.rows_held;
  const stillThere = storedAmong(statements, source.no, unseen);
  const unidentified = statements.anyUnidentified.get(source.no, started_at) !== undefined;
  const brake = brakeOf(source, { unseen: stillThere.length, unidentified }, policy);
  if (brake !== null) commit.markUnseen(stillThere);
  else if (source.awaiting_deletion > 0) commit.unmarkAll();
  swapIn(commit, { removed: brake === null ? stillThere : [] });
  if (totalsDiffer) recomputeTotals(statements.raw, source.no);
  return { applied: relisted(commit.applied(0, 0), rowsBefore), brake };
}

/** A row that was deleted since does not count. */
function storedAmong(statements: Statements, sourceNo: number, rowNos: readonly number[]): readonly number[] {
  return rowNos.length === 0 ? [] : statements.storedAmong.all(JSON.stringify(rowNos), sourceNo);
}

function discardListing({ statements, source }: Commit): void {
  statements.deleteStaged.run(source.no);
  statements.deleteSeen.run(source.no);
  statements.deleteListing.run(source.no);
  statements.deleteSweep.run(source.no);
}

function expectListing({ statements, source }: Commit): ListingRow {
  const listing = statements.listing.get(source.no);
  if (listing === undefined) throw new Error(`source ${source.name} has no listing under way`);
  return listing;
}
