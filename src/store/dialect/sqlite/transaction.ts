import type Sqlite from 'better-sqlite3';

/**
 * Runs `work` in one write transaction and returns its result. Uses BEGIN IMMEDIATE, because a read transaction that
 * upgrades later fails at once instead of waiting for the lock. Throws if a transaction is already open: the outer one
 * would decide about the commit.
 */
export function inTransaction<Result>(raw: Sqlite.Database, work: () => Result): Result {
  if (raw.inTransaction) throw new Error('a write transaction was started inside another one');
  raw.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    raw.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite has already rolled back by itself after some errors, such as a full disk.
    if (raw.inTransaction) raw.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Runs `work` with commits that do not wait for the disk, which is most of the time of a small commit. A power cut may lose
 * them; a crash of the process does not.
 */
export function withoutWaiting<Result>(raw: Sqlite.Database, work: () => Result): Result {
  raw.exec('PRAGMA synchronous = NORMAL');
  try {
    return work();
  } finally {
    raw.exec('PRAGMA synchronous = FULL');
  }
}

/** Runs `work` with another busy timeout, in milliseconds. Waiting for another program's lock blocks the event loop. */
export function waitingAtMost<Result>(raw: Sqlite.Database, millis: number, work: () => Result): Result {
  const before = raw.pragma('busy_timeout', { simple: true });
  raw.pragma(`busy_timeout = ${millis}`);
  try {
    return work();
  } finally {
    raw.pragma(`busy_timeout = ${before}`);
  }
}

/** Whether another connection had the lock for longer than this one waits. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}
