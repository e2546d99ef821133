import { buildIndex, sortingInFiles } from './indexes.js';
import { type CountedTotals, totalsDiffer } from './kept-totals.js';
import type { RawDatabase } from './prepared.js';

/*
 * Work whose time grows with the number of rows. It is done before the commit that publishes a listing, so that this
 * commit is short. For a large source it runs in a child process (listing-process.ts), which does not block the event
 * loop.
 */

/** Computes the totals of a first listing and writes those of its investors (count-listing.ts). */
export interface CountTask {
  readonly kind: 'count';
  readonly sourceNo: number;
  readonly fence: number;
}

export type ListingTask =
  /** Builds one index of `indexes.sql`. Holds the write lock meanwhile. */
  | { readonly kind: 'index'; readonly name: string }
  | CountTask
  /** Whether the totals of a listed source differ from its rows. */
  | { readonly kind: 'check'; readonly sourceNo: number }
  /** The numbers of the stored rows that no page of the re-listing named, in order. */
  | { readonly kind: 'unseen'; readonly sourceNo: number };

export interface ListingResults {
  /** Whether rows of ids that were named twice were deleted. */
  readonly index: boolean;
  readonly count: CountedTotals | null;
  readonly check: boolean;
  readonly unseen: readonly number[];
}

export type PerformTask = <Task extends ListingTask>(task: Task) => Promise<ListingResults[Task['kind']]>;

/** Selects the numbers of the live rows that pages of a re-listing named. */
const seen = 'SELECT seen.value FROM staged_pages p, json_each(p.seen) seen WHERE p.source_no = ?';

/** Does not sort: sorted by their numbers, SQLite would look for the rows of one source among those of all sources. */
export const unseenSql = `SELECT row_no FROM investment_rows WHERE source_no = ? AND row_no NOT IN (${seen})`;

export function performListingTask(
  raw: RawDatabase,
  task: Exclude<ListingTask, CountTask>,
): boolean | readonly number[] {
  switch (task.kind) {
    case 'index':
      return buildIndex(raw, task.name);
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

/** Performs the tasks on the mirror's own connection, except that the commit itself computes the totals. */
export const performHere = (raw: RawDatabase): PerformTask =>
  (async (task: ListingTask) =>
    task.kind === 'count' ? null : performListingTask(raw, task)) as PerformTask;
