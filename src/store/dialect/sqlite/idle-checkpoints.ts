import type { Clock } from '../../../runtime/clock.js';
import { Interrupter } from '../../../runtime/interruption.js';
import type { SqliteConnection } from './connect.js';

/** A pause without a commit of this process that is long enough to copy the log meanwhile. */
export const pauseMillis = 30;

/** How many commits the log collects before it is worth copying: some 2 MB of ordinary ticks. */
export const commitsMin = 32;

/**
 * 16 MB. The commit that makes the log this long copies it, so that it stays bounded when no pause comes.
 */
export const logPagesMax = 4_096;

/**
 * 2 MB. A checkpoint blocks the event loop while it copies the log, and a listing fills it without a pause. With 16 MB,
 * deliveries waited twice as long during a large listing, and with 4 MB its longest turns were a fifth longer. Neither made it
 * faster.
 */
const listingPagesMax = 512;

/**
 * Copies the write-ahead log into the file in pauses between commits. SQLite's automatic checkpoints run inside a commit:
 * with some 15 pages each, every 66th tick took several milliseconds longer, which was the 99th percentile.
 */
export class IdleCheckpoints {
  readonly #closing = new Interrupter();
  /** Since the last checkpoint. */
  #commits = 0;
  #waiting: Promise<void> | undefined;

  constructor(
    private readonly database: SqliteConnection,
    private readonly clock: Clock,
  ) {
    database.raw.pragma(`wal_autocheckpoint = ${logPagesMax}`);
  }

  /** Call it after each commit. */
  committed(): void {
    this.#commits += 1;
    if (this.#commits >= commitsMin) this.#waiting ??= this.#afterPause();
  }

  /** Runs the commit of a page of a listing: it copies a log of more than 2 MB at once. */
  oftenWhile<Result>(commit: () => Result): Result {
    const { raw } = this.database;
    raw.exec(`PRAGMA wal_autocheckpoint = ${listingPagesMax}`);
    try {
      return commit();
    } finally {
      raw.exec(`PRAGMA wal_autocheckpoint = ${logPagesMax}`);
    }
  }

  /** Resolves when no checkpoint will follow. Call it before the connection is closed. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#waiting;
  }

  async #afterPause(): Promise<void> {
    for (let before = -1; before !== this.#commits; ) {
      before = this.#commits;
      await this.clock.wait(pauseMillis, this.#closing);
      if (this.#closing.aborted) return;
    }
    this.#commits = 0;
    this.#waiting = undefined;
    const { raw } = this.database;
    try {
      // Never waits: pages that a reader still needs stay in the log.
      if (raw.open && !raw.inTransaction) raw.pragma('wal_checkpoint(PASSIVE)');
    } catch {
      // A full or failing disk is reported by the commits that write.
    }
  }
}
