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
import { lastOfEach, planListed, type RecordItem } from '../../plan-page.js';
import type { ListingRow } from '../../source-row.js';
import { listingProgress } from '../../standing.js';
import type { Commit } from './commit.js';
import { buildIdIndex } from './indexes.js';
import { insertRows, replaceListedRows } from './page-rows.js';
import { resolveBefore, seenBefore } from './quarantine.js';
import { countUnseen, discardStage, forgetSeen, rememberSeen, stageRows, unstage } from './stage.js';
import { removeAwaiting, swapIn } from './swap.js';
import { statement } from './transaction.js';

export async function beginListing(commit: Commit, start: ListingStart): Promise<ListingProgress> {
  const { transaction, source } = commit;
  if ((start.kind === 'first') !== (source.listed_at === null))
    throw new Error(`a ${start.kind} listing does not fit a source that is ${source.state}`);
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
  source.generation += 1;
  source.fingerprint = start.fingerprint;
  commit.moveTo(start.kind === 'first' ? 'listing' : 'relisting');
  const listing: ListingRow = {
    source_no: source.no,
    kind: start.kind,
    generation: source.generation,
    started_at: commit.at,
    restarts: start.restarts,
    not_before: start.notBefore,
    token: null,
    low_mark: null,
    pages: 0,
    rows: 0,
    final: null,
    would_remove: null,
  };
  transaction.send(
    `INSERT INTO listings (source_no, kind, generation, restarts, not_before, started_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    ...[source.no, start.kind, source.generation, start.restarts, start.notBefore, commit.at],
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
  received: FeedPage,
  sent: number | null = null,
): Promise<{ progress: ListingProgress; applied: Applied }> {
  const { transaction, source } = commit;
  const listing = expectListing(commit);
  const erases = received.items.some(
    (item) => item.kind === 'tombstone' || (item.kind === 'rejected' && item.erases !== undefined),
  );
  if (erases && !commit.locked.idsIndexed) await buildIdIndex(transaction);
  const page = { ...received, items: await commit.receive(received.items) };
  await commit.unmark(namedBy(page.items, 'listing'));
  const rows =
    listing.rows +
    (sent ??
      (listing.kind === 'first'
        ? await addFirst(commit, page)
        : await addRelisted(commit, page, listing.pages)));
  const pages = listing.pages + 1;
  const low_mark = listing.pages === 0 ? page.publishedThrough : listing.low_mark;
  const [token, final] = page.hasMore ? [page.next, null] : [null, page.next];
  transaction.send(advance, token, final, low_mark, pages, rows, source.no);
  const quarantined = await commit.recordAnomalies(page.items);
  source.rows_incoming = rows;
  source.pages_incoming = pages;
  commit.moveTo(listing.kind === 'first' ? 'listing' : 'relisting');
  const progress = listingProgress({ ...listing, token, final, low_mark, pages, rows });
  return { progress, applied: { ...nothingApplied, quarantined } };
}

/**
 * Inserts a page of a first listing without reading stored rows first: the hot path. Returns the number of rows added.
 * Until ids are indexed, a record named on two pages has two rows; `buildIndexes` keeps the later one.
 */
async function addFirst(commit: Commit, page: FeedPage): Promise<number> {
  const { transaction, source } = commit;
  const records: RecordItem[] = [];
  const gone: string[] = [];
  for (const item of lastOfEach(page.items)) {
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
async function addRelisted(commit: Commit, page: FeedPage, pageNo: number): Promise<number> {
  const { transaction, source } = commit;
  const ids = page.items.flatMap((item) => (item.kind === 'record' ? item.investment.id : (item.id ?? [])));
  const storedOf = await commit.storedRows([...new Set(ids)]);
  const seen = new Set<number>();
  const noLongerSeen: number[] = [];
  /**
   * The latest entry for an id counts. A record that is unstaged and then named again goes to the end: the order of the
   * stage becomes the order of the change feed.
   */
  const stage = new Map<string, RecordItem>();
  const unstagedIds = new Set<string>();
  const dropStaged = (id: string) => {
    stage.delete(id);
    unstagedIds.add(id);
  };
  let named = 0;
  for (const item of page.items) {
    const id = item.kind === 'record' ? item.investment.id : item.id;
    const stored = id === null ? undefined : storedOf.get(id);
    if (item.kind === 'tombstone') {
      if (stored !== undefined) {
        seen.delete(stored.rowNo);
        noLongerSeen.push(stored.rowNo);
      }
      dropStaged(item.id);
      continue;
    }
    // An unreadable record still exists on the platform: its stored version stays.
    if (stored !== undefined) seen.add(stored.rowNo);
    if (item.kind === 'rejected') continue;
    named += 1;
    if (planListed(stored, item) === null) dropStaged(item.investment.id);
    else stage.set(item.investment.id, item);
  }
  if (noLongerSeen.length > 0) forgetSeen(transaction, source.no, noLongerSeen);
  if (commit.locked.anyStaged && unstagedIds.size > 0) unstage(transaction, source.no, [...unstagedIds]);
  stageRows(transaction, source.no, [...stage.values()], (id) => storedOf.get(id)?.rowNo ?? null);
  rememberSeen(transaction, source.no, pageNo, [...seen]);
  return named;
}

export async function publishListing(
  commit: Commit,
  final: Cursor,
  policy: BrakePolicy,
): Promise<{ applied: Applied; brake: Brake | null }> {
  const { transaction, source } = commit;
  const listing = expectListing(commit);
  if (listing.final !== final)
    throw new Error('only a complete listing is published, with its own final cursor');
  const result =
    listing.kind === 'first' ? await publishFirst(commit) : await publishRelisted(commit, policy);
  if (source.quarantined > 0)
    source.quarantined = await resolveBefore(transaction, source.no, listing.started_at, commit.at);
  discardListing(commit);
  transaction.send(
    'INSERT INTO sweeps (source_no, since, cursor) VALUES ($1, $2, $3)',
    ...[source.no, listing.low_mark, final],
  );
  source.cursor = final;
  source.cursor_saved_at = commit.now;
  source.published_through = listing.low_mark;
  source.last_listing_at = commit.now;
  source.listing_restarts = listing.restarts;
  namesListed(source, listing.generation);
  commit.moveTo('sweeping');
  return result;
}

export async function deleteAwaiting(commit: Commit): Promise<Applied> {
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
  policy: BrakePolicy,
): Promise<{ applied: Applied; brake: Brake | null }> {
  const { transaction, source } = commit;
  const rowsBefore = source.rows_held;
  const absent = await countUnseen(transaction, source.no);
  const brake = brakeOn(policy, { wouldRemove: absent, held: rowsBefore });
  // Before new rows are inserted: the pages could not record the row numbers of those as seen.
  if (brake !== null) await commit.markUnseen();
  else if (source.awaiting_deletion > 0) commit.unmarkAll();
  await swapIn(commit, { removesUnseen: brake === null });
  const { changed, removed } = commit.applied(0, 0);
  return { applied: commit.applied(rowsBefore - changed - removed, 0), brake };
}

function discardListing({ transaction, source }: Commit): void {
  discardStage(transaction, source.no);
  transaction.send('DELETE FROM listings WHERE source_no = $1', source.no);
  transaction.send('DELETE FROM sweeps WHERE source_no = $1', source.no);
  source.rows_incoming = 0;
  source.pages_incoming = 0;
}

function expectListing({ locked, source }: Commit): ListingRow {
  if (locked.listing === null) throw new Error(`source ${source.name} has no listing under way`);
  return locked.listing;
}
