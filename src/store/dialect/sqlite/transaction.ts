import type Sqlite from 'better-sqlite3';

/**
 * One write transaction that takes the lock at its start, because a read that upgrades later fails at once
 * instead of waiting. Refuses to nest: inside somebody else's transaction our commit would not be ours.
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

/** For what may be lost to a power cut, though not to a crash: it saves the wait for the disk, most of a small commit. */
export function withoutWaiting<Result>(raw: Sqlite.Database, work: () => Result): Result {
  raw.exec('PRAGMA synchronous = NORMAL');
  try {
    return work();
  } finally {
    raw.exec('PRAGMA synchronous = FULL');
  }
}
