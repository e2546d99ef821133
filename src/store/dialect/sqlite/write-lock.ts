import { isFault } from '../../../domain/fault.js';
import type { RawDatabase } from './prepared.js';
import { isBusy } from './transaction.js';

/** How long a statement of a daemon may wait for another program's lock: this blocks the event loop. A gate waits for longer locks. */
const statementWaitMillis = 25;

/** The write lock of a file, which other programs hold at times, as one connection sees it. */
export interface WriteLock {
  isFree(): boolean;
  /** Sets whether statements that meet the lock wait for it a moment, as they do at first, or fail at once. */
  wait(isWanted: boolean): void;
}

/** Limits the waiting of this connection's statements as well. */
export function writeLockOf(raw: RawDatabase): WriteLock {
  let isWaiting: boolean | undefined;
  const wait = (isWanted: boolean) => {
    if (isWanted === isWaiting || !raw.open) return;
    raw.exec(`PRAGMA busy_timeout = ${isWanted ? statementWaitMillis : 0}`);
    isWaiting = isWanted;
  };
  wait(true);
  return {
    wait,
    /** Statements do not wait afterwards. */
    isFree: () => {
      wait(false);
      try {
        raw.exec('BEGIN IMMEDIATE; ROLLBACK');
        return true;
      } catch (error) {
        // What writes next reports any other error.
        return !isBusy(error);
      }
    },
  };
}

/** Whether a call failed because another program held the lock, and not because of the disk or the memory. */
export function isOfLock(error: unknown): boolean {
  return isBusy(isFault(error, 'database_busy') ? error.cause : error);
}
