import { Fault } from '../../../domain/fault.js';
import type { Clock } from '../../../runtime/clock.js';
import type { Interruption } from '../../../runtime/interruption.js';
import {
  type CountedTotals,
  computeTotals,
  deleteLeftover,
  findLeftover,
  investorsPerCommitMax,
  isCounting,
  noteCounting,
  writeInvestors,
} from './kept-totals.js';
import type { CountTask } from './listing-work.js';
import type { RawDatabase } from './prepared.js';
import { retryBusy } from './retry-busy.js';
import { SliceSize } from './slice-size.js';
import { inTransaction, withoutWaiting } from './transaction.js';

/** Runs one commit while the other writers of this program wait, and lets them write before the next one. */
export type Turn = <Result>(commit: () => Result) => Promise<Result>;

/**
 * The totals of investors are sorted into a temporary file first and written in that order: inserting them in the order of
 * the rows would write each page of their index many times.
 */
export async function countListing(
  raw: RawDatabase,
  { sourceNo, fence }: CountTask,
  turn: Turn,
  clock: Pick<Clock, 'monotonic' | 'wait'>,
  signal?: Interruption,
): Promise<CountedTotals> {
  const fenceOf = raw.prepare<[number], number>('SELECT fence FROM leases WHERE source_no = ?').pluck();
  const size = new SliceSize(investorsPerCommitMax);
  const write = (work: () => number): Promise<number> =>
    turn(() => {
      const began = clock.monotonic();
      // A power cut may lose these rows: they count only with the commit that publishes the listing.
      const rows = withoutWaiting(raw, () =>
        inTransaction(raw, () => {
          if (fenceOf.get(sourceNo) !== fence)
            throw new Fault('lease_lost', 'the source was taken over while its totals were computed');
          return work();
        }),
      );
      size.took(clock.monotonic() - began);
      return rows;
    });
  const commit = (work: () => number) => retryBusy(clock, () => write(work), signal);
  // Before the first commit, which may have to wait for an index that is being built.
  const totals = computeTotals(raw, sourceNo);
  const isRepeated = isCounting(raw, sourceNo);
  await commit(() => noteCounting(raw, sourceNo, 'counting'));
  if (isRepeated) await deleteAllLeftover();
  for (let from = 0, written = -1; written !== 0; from += written)
    written = await commit(() => writeInvestors(raw, from, size.rows));
  await commit(() => noteCounting(raw, sourceNo, 'counted'));
  raw.exec('DROP TABLE temp.counted');
  return totals;

  /** Looks for them outside the commits: it reads the totals of all sources, which may take longer than a commit should. */
  async function deleteAllLeftover(): Promise<void> {
    for (let slice = next(0); slice !== null; slice = next(slice.last)) {
      const found = slice;
      await commit(() => deleteLeftover(raw, sourceNo, found));
    }
  }

  function next(after: number) {
    return findLeftover(raw, sourceNo, after, size.rows);
  }
}
