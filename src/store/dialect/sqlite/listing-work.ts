import { Fault } from '../../../domain/fault.js';
import { buildIndex, sortingInFiles } from './indexes.js';
import {
  type CountedTotals,
  computeTotals,
  deleteLeftover,
  investorsPerCommit,
  isCounting,
  noteCounting,
  totalsDiffer,
  writeInvestors,
} from './kept-totals.js';
import type { RawDatabase } from './prepared.js';
import { seen } from './statements.js';
import { inTransaction, withoutWaiting } from './transaction.js';

/*
 * Work whose time grows with the number of rows. It is done before the commit that publishes a listing, so that this
 * commit is short. For a large source it runs in a child process (listing-process.ts), which does not block the event
 * loop.
 */

export type ListingTask =
  /** Builds one index of `indexes.sql`. Holds the write lock meanwhile. */
  | { readonly kind: 'index'; readonly name: string }
  /** Computes the totals of a first listing and writes those of its investors. */
  | { readonly kind: 'count'; readonly sourceNo: number; readonly fence: number }
  /** Whether the totals of a listed source differ from its rows. */
  | { readonly kind: 'check'; readonly sourceNo: number }
  /** The numbers of the stored rows that no page of the re-listing named, in order. */
  | { readonly kind: 'unseen'; readonly sourceNo: number };

export interface ListingResults {
  readonly index: null;
  readonly count: CountedTotals | null;
  readonly check: boolean;
  readonly unseen: readonly number[];
}

export type PerformTask = <Task extends ListingTask>(task: Task) => Promise<ListingResults[Task['kind']]>;

/** Does not sort: sorted by their numbers, SQLite would look for the rows of one source among those of all sources. */
export const unseenSql = `SELECT row_no FROM investment_rows WHERE source_no = ? AND row_no NOT IN (${seen})`;

/** Performs a task. `pause` is called between two commits, for other writers to get the lock. */
export async function performListingTask(
  raw: RawDatabase,
  task: ListingTask,
  pause: () => Promise<void>,
): Promise<ListingResults[ListingTask['kind']]> {
  switch (task.kind) {
    case 'index':
      buildIndex(raw, task.name);
      return null;
    case 'count':
      return await countListing(raw, task, pause);
    case 'check':
      return sortingInFiles(raw, () => totalsDiffer(raw, task.sourceNo));
    case 'unseen':
      return raw
        .prepare<[number, number], number>(unseenSql)
        .pluck()
        .all(task.sourceNo, task.sourceNo)
        .sort((one, other) => one - other);
  }
}

/**
 * The totals of investors are sorted into a temporary file first and written in that order: inserting them in the order of
 * the rows would write each page of their index many times.
 */
async function countListing(
  raw: RawDatabase,
  { sourceNo, fence }: Extract<ListingTask, { kind: 'count' }>,
  pause: () => Promise<void>,
): Promise<CountedTotals> {
  const fenceOf = raw.prepare<[number], number>('SELECT fence FROM leases WHERE source_no = ?').pluck();
  const commit = (work: () => number): number =>
    // A power cut may lose these rows: they count only with the commit that publishes the listing.
    withoutWaiting(raw, () =>
      inTransaction(raw, () => {
        if (fenceOf.get(sourceNo) !== fence)
          throw new Fault('lease_lost', 'the source was taken over while its totals were computed');
        return work();
      }),
    );
  // Looking for what is left over reads the totals of all sources.
  const isRepeated = isCounting(raw, sourceNo);
  commit(() => noteCounting(raw, sourceNo, 'counting'));
  while (isRepeated && commit(() => deleteLeftover(raw, sourceNo)) > 0) await pause();
  const totals = computeTotals(raw, sourceNo);
  for (let from = 0; commit(() => writeInvestors(raw, from)) > 0; from += investorsPerCommit) await pause();
  commit(() => noteCounting(raw, sourceNo, 'counted'));
  raw.exec('DROP TABLE temp.counted');
  return totals;
}

/** Performs the tasks on the mirror's own connection, except that the commit itself computes the totals. */
export const performHere = (raw: RawDatabase): PerformTask =>
  (async (task: ListingTask) =>
    task.kind === 'count' ? null : await performListingTask(raw, task, async () => {})) as PerformTask;
