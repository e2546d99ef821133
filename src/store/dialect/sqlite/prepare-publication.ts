import { setImmediate } from 'node:timers/promises';
import type { Interruption } from '../../../runtime/interruption.js';
import type { SourceRow } from '../../source-row.js';
import { freeCachedPages } from './cached-pages.js';
import { missingIndexes, newestRow, reloadStatistics } from './indexes.js';
import type { PreparedListing } from './listing.js';
import { type PerformTask, performHere } from './listing-work.js';
import type { RawDatabase } from './prepared.js';

/** Runs one of the transactions of a publication. May run it again when another program had the write lock. */
export type Step = <Result>(transaction: () => Result | Promise<Result>) => Promise<Result>;

/** How mirrors with many rows prepare the publication of a listing. */
export interface LargeListings {
  readonly step?: Step;
  /** Up to so many rows, the work takes less than 100 ms and is done on the event loop. */
  readonly rowsAtOnce: number;
  /** When `signal` fires, a task that waits for the lock of another program fails with `stopped`. */
  start(signal?: Interruption): ListingHelper;
}

export interface ListingHelper {
  readonly perform: PerformTask;
  end(): Promise<void>;
}

/** What performs the tasks of one publication: child processes for a mirror with many rows, otherwise this process. */
export class ListingHelpers {
  readonly #started: ListingHelper[] = [];
  readonly #large: LargeListings | null;
  readonly step: Step;

  constructor(
    private readonly raw: RawDatabase,
    large: LargeListings | undefined,
    private readonly signal?: Interruption,
  ) {
    // Whether a child process starts faster than the work is done here.
    this.step = large?.step ?? (async (transaction) => transaction());
    this.#large = large !== undefined && newestRow(raw) > large.rowsAtOnce ? large : null;
  }

  /** Returns a function that performs one task at a time. */
  start(): PerformTask {
    if (this.#large === null) {
      const perform = performHere(this.raw);
      return (task) => this.step(() => perform(task));
    }
    if (this.#started.length === 0) freeCachedPages(this.raw);
    const helper = this.#large.start(this.signal);
    this.#started.push(helper);
    return helper.perform;
  }

  async end(): Promise<void> {
    await Promise.all(this.#started.map((helper) => helper.end()));
  }
}

/**
 * Performs what need not be part of the commit that publishes a listing: the lease keeps the rows of the source as they are.
 */
export async function preparePublication(
  raw: RawDatabase,
  { no, listed_at }: Pick<SourceRow, 'no' | 'listed_at'>,
  fence: number,
  helpers: ListingHelpers,
): Promise<PreparedListing> {
  const missing = missingIndexes(raw);
  const perform = helpers.start();
  const build = async () => {
    let deleted = false;
    for (const name of missing) {
      if (await perform({ kind: 'index', name })) deleted = true;
      await setImmediate();
    }
    return deleted;
  };
  const reload = async () => {
    if (missing.length > 0) await helpers.step(() => reloadStatistics(raw));
  };
  if (listed_at === null) {
    const count = { kind: 'count', sourceNo: no, fence } as const;
    // Computing the totals reads the rows for about as long as building the indexes takes. A process that cannot be started is
    // noticed before either is begun: nothing would wait for it, or for its failure.
    const counter = missing.length > 1 ? helpers.start() : null;
    const [deleted, early] = await Promise.all([build(), counter?.(count)]);
    await reload();
    // Rows that were deleted may have been counted.
    const totals = early === undefined || deleted ? await (counter ?? perform)(count) : early;
    return { kind: 'first', totals };
  }
  await build();
  await reload();
  const unseen = await perform({ kind: 'unseen', sourceNo: no });
  return { kind: 'relist', unseen, totalsDiffer: await perform({ kind: 'check', sourceNo: no }) };
}
