import { Fault } from '../../../domain/fault.js';
import type { Clock } from '../../../runtime/clock.js';
import type { Interruption } from '../../../runtime/interruption.js';
import { isBusy } from './transaction.js';

/** How long a child process waits for the lock of another program with the gate of its parent closed. */
export const turnLockWaitMillis = 500;

/** How long it is tried in all, and how long the gate stays open in between. */
const lockWaitMillis = 10 * 60_000;
const pauseMillis = 500;

/**
 * Repeats `work` while another program has the write lock. Between two attempts the other writers of this program find the
 * same lock, and report it. Throws `SQLITE_BUSY` after ten minutes, and `stopped` when `signal` has fired.
 */
export async function retryBusy<Result>(
  clock: Pick<Clock, 'monotonic' | 'wait'>,
  work: () => Promise<Result>,
  signal?: Interruption,
): Promise<Result> {
  for (const until = clock.monotonic() + lockWaitMillis; ; await clock.wait(pauseMillis, signal))
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (signal?.aborted === true)
        throw new Fault('stopped', 'stopped while another program had the write lock', { cause: error });
      if (clock.monotonic() >= until) throw error;
    }
}
