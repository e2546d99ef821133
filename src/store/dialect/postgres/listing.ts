import { differenceOf, publicationDifference } from '../../../domain/difference.js';
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
import {
  brakeOf,
  checkComplete,
  endListing,
  planStage,
  relisted,
  startListing,
  withPage,
} from '../../listing-lifecycle.js';
import type { PageFacts, RecordItem } from '../../page-facts.js';
import { listingProgress } from '../../phase.js';
import type { ListingRow, SweepRow } from '../../source-row.js';
import type { Commit } from './commit.js';
import { buildIdIndex } from './indexes.js';
import { insertRows, replaceListedRows } from './page-rows.js';
import { anyUnidentified, resolveBefore, seenBefore } from './quarantine.js';
import { countUnseen, discardStage, forgetSeen, rememberSeen, stageRows, unstage } from './stage.js';
import { removeAwaiting, swapIn } from './swap.js';
import { statement } from './transaction.js';

export async function beginListing(commit: Commit, start: ListingStart): Promise<ListingProgress> {
  const { transaction, source } = commit;
  const listing = startListing(source, start, commit.at);
  discardListing(commit);
  // Rows of an abandoned first listing were never visible.
  if (start.kind === 'first') {
    transaction.send(
      'DELETE FROM identity_rows WHERE row_no IN (SELECT row_no FROM investment_rows WHERE source_no = $1)',
      source.no,
    );
    transaction.send('DELETE FROM investment_rows WHERE source_no = $1', source.no);
  }
  // Entries in quarantine now are older than this listing, whatever the clock says.
  if (source.quarantined > 0) seenBefore(transaction, source.no, commit.at);
  transaction.send(
    `INSERT INTO listings (source_no, kind, generation, restarts, not_before, started_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    ...[source.no, listing.kind, listing.generation],
    ...[listing.restarts, listing.not_before, listing.started_at],
  );
  return listingProgress(listing);
}

const advance = statement(
  'advance_listing',
  'UPDATE listings SET token = $1, final = $2, low_mark = $3, pages = $4, rows = $5 WHERE source_no = $6',
);

/**
 * Stores one page of the listing under way. `sent` is the number of rows already sent ahead by `appendRows`, or null:
 * see rows-ahead.ts.
 */
export async function addListingPage(
  commit: Commit,
  page: FeedPage,
  received: PageFacts,
  sent: number | null = null,
): Promise<{ progress: ListingProgress; applied: Applied }> {
  const { transaction, source } = commit;
  const before = expectListing(commit);
  if (received.removes && !commit.locked.idsIndexed) await buildIdIndex(transaction);
  const facts = await commit.receive(received);
  await commit.unmark(namedBy(facts, 'listing'));
  const added =
    sent ??
    (before.kind === 'first'
      ? await addFirst(commit, facts)
      : await addRelisted(commit, facts, before.pages));
  const listing = withPage(source, before, page, added);
  const { token, final, low_mark, pages, rows } = listing;
  transaction.send(advance, token, final, low_mark, pages, rows, source.no);
  const quarantined = await commit.recordAnomalies(facts);
  return { progress: listingProgress(listing), applied: { ...nothingApplied, quarantined } };
}

/**
 * Inserts a page of a first listing without reading stored rows first: the hot path. Returns the number of rows added.
 * Until ids are indexed, a record named on two pages has two rows; `buildIndexes` keeps the later one.
 */
async function addFirst(commit: Commit, { latest }: PageFacts): Promise<number> {
  const { transaction, source } = commit;
  const records: RecordItem[] = [];
  const gone: string[] = [];
  for (const item of latest) {
    if (item.kind === 'record') records.push(item);
    else gone.push(item.id);
  }
  let added = records.length;
  if (gone.length > 0) added -= await transaction.run(deleteListed, source.no, gone);
  const rows = records.map((record) => ({ record, seq: null }));
  const existing = new Set(await insertRows(transaction, source.no, null, rows));
  if (existing.size > 0) {
    const repeated = records.filter(({ investment }) => existing.has(investment.id));
    await replaceListedRows(transaction, source.no, repeated);
  }
  return added - existing.size;
}

/** Their identities were erased by `Commit.receive`. */
const deleteListed = statement(
  'delete_listed',
  'DELETE FROM investment_rows WHERE source_no = $1 AND id = ANY($2::text[])',
);

/** Remembers which stored rows the page named and stages records that differ from them. Returns how many it named. */
async function addRelisted(commit: Commit, { items, mentions }: PageFacts, pageNo: number): Promise<number> {
  const { transaction, source } = commit;
  const storedOf = await commit.storedRows([...mentions.keys()]);
  const plan = planStage(
    items,
    (id) => storedOf.get(id),
    (stored, record) =>
      publicationDifference(stored.investment, record.investment).length > 0 ||
      differenceOf(stored, record) !== null,
  );
  if (plan.noLongerSeen.length > 0) forgetSeen(transaction, source.no, plan.noLongerSeen);
  if (commit.locked.anyStaged && plan.unstage.length > 0) unstage(transaction, source.no, plan.unstage);
  stageRows(transaction, source.no, plan.stage);
  rememberSeen(transaction, source.no, pageNo, plan.seen);
  return plan.named;
}

export async function publishListing(
  commit: Commit,
  final: Cursor,
  policy: BrakePolicy,
): Promise<{ published: { applied: Applied; brake: Brake | null }; sweep: SweepRow }> {
  const { transaction, source } = commit;
  const listing = expectListing(commit);
  checkComplete(listing, final);
  const published =
    listing.kind === 'first' ? await publishFirst(commit) : await publishRelisted(commit, listing, policy);
  if (source.quarantined > 0)
    source.quarantined = await resolveBefore(transaction, source.no, listing.started_at, commit.at);
  discardListing(commit);
  const sweep = endListing(source, listing, final, commit.now);
  transaction.send(
    'INSERT INTO sweeps (source_no, since, cursor) VALUES ($1, $2, $3)',
    ...[source.no, sweep.since, sweep.cursor],
  );
  return { published, sweep };
}

export async function deleteAwaiting(commit: Commit, rows?: number): Promise<Applied | null> {
  if (rows !== undefined && commit.source.awaiting_deletion !== rows) return null;
  await removeAwaiting(commit);
  commit.unmarkAll();
  return commit.applied(0, 0);
}

/** Rewrites no row: the time and change number that all rows share are stored in the source row. */
async function publishFirst(commit: Commit): Promise<{ applied: Applied; brake: null }> {
  const { transaction, source } = commit;
  const counted = await transaction.row<{ rows: number }>(
    'SELECT count(*) AS rows FROM investment_rows WHERE source_no = $1',
    source.no,
  );
  source.rows_held = counted?.rows ?? 0;
  source.listed_seq = await commit.snapshot();
  source.listed_at = commit.at;
  return { applied: { ...nothingApplied, added: source.rows_held }, brake: null };
}

/** Publishes a re-listing. Rows it did not name are deleted or, if the brake engages, marked as awaiting deletion. */
async function publishRelisted(
  commit: Commit,
  { started_at }: ListingRow,
  policy: BrakePolicy,
): Promise<{ applied: Applied; brake: Brake | null }> {
  const { transaction, source } = commit;
  const rowsBefore = source.rows_held;
  const unseen = await countUnseen(transaction, source.no);
  const unidentified = unseen > 0 && (await anyUnidentified(transaction, source.no, started_at));
  const brake = brakeOf(source, { unseen, unidentified }, policy);
  // Before new rows are inserted: the pages could not record the row numbers of those as seen.
  if (brake !== null) await commit.markUnseen();
  else if (source.awaiting_deletion > 0) commit.unmarkAll();
  await swapIn(commit, { removesUnseen: brake === null });
  return { applied: relisted(commit.applied(0, 0), rowsBefore), brake };
}

function discardListing({ transaction, source }: Commit): void {
  discardStage(transaction, source.no);
  transaction.send('DELETE FROM listings WHERE source_no = $1', source.no);
  transaction.send('DELETE FROM sweeps WHERE source_no = $1', source.no);
}

function expectListing({ locked, source }: Commit): ListingRow {
  if (locked.listing === null) throw new Error(`source ${source.name} has no listing under way`);
  return locked.listing;
}
