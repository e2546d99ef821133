import { isFault } from '../../../domain/fault.js';
import type { RawDatabase } from './prepared.js';
import { isBusy } from './transaction.js';

/** How long a statement of a daemon waits for another program's lock: this blocks the event loop. A gate waits for longer locks. */
const statementWaitMillis = 25;

/** The write lock of a file, which other programs hold at times, as one connection sees it. */
export interface WriteLock {
  isFree(): boolean;
}

/** Limits the waiting of this connection's statements as well. */
export function writeLockOf(raw: RawDatabase): WriteLock {
  raw.pragma(`busy_timeout = ${statementWaitMillis}`);
  return {
    isFree: () => {
      raw.exec('PRAGMA busy_timeout = 0');
      try {
        raw.exec('BEGIN IMMEDIATE; ROLLBACK');
        return true;
      } catch (error) {
        // What writes next reports any other error.
        return !isBusy(error);
      } finally {
        raw.exec(`PRAGMA busy_timeout = ${statementWaitMillis}`);
      }
    },
  };
}

/** Whether a call failed because another program held the lock, and not because of the disk or the memory. */
export function isOfLock(error: unknown): boolean {
  return isBusy(isFault(error, 'database_busy') ? error.cause : error);
}
