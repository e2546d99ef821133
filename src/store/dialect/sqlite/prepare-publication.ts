import { setImmediate } from 'node:timers/promises';
import type { Interruption } from '../../../runtime/interruption.js';
import type { SourceRow } from '../../source-row.js';
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
  const perform = helpers.start();
  const reload = () => helpers.step(() => reloadStatistics(raw));
  const missing = missingIndexes(raw);
  const build = async (names: readonly string[]) => {
    for (const name of names) {
      await perform({ kind: 'index', name });
      await setImmediate();
    }
  };
  // The index of ids comes first and alone: building it deletes the rows of ids that were named twice.
  await build(missing.slice(0, 1));
  if (listed_at === null) {
    // Computing the totals reads the rows for about as long as the other indexes take. A process that cannot be started is
    // noticed before they are begun: nothing would wait for them, or for their failure.
    const count = missing.length > 1 ? helpers.start() : perform;
    const others = build(missing.slice(1));
    const [totals] = await Promise.all([count({ kind: 'count', sourceNo: no, fence }), others]);
    if (missing.length > 0) await reload();
    return { kind: 'first', totals };
  }
  await build(missing.slice(1));
  if (missing.length > 0) await reload();
  const unseen = await perform({ kind: 'unseen', sourceNo: no });
  return { kind: 'relist', unseen, totalsDiffer: await perform({ kind: 'check', sourceNo: no }) };
}
