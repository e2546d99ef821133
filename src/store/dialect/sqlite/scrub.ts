import { fstatSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import { unwritable } from '../../../runtime/unwritable.js';
import type { Scrubbed } from '../../erasures.js';
import type { SqliteConnection } from './connect.js';
import { ownSqlFault, withSqliteFaults } from './faults.js';
import { overwriteUnused } from './overwrite-unused.js';
import { Unwalkable } from './page-file.js';
import type { RawDatabase } from './prepared.js';
import { inTransaction, isBusy } from './transaction.js';

/** VACUUM writes the database twice, to a temporary file and to the log; plus a tenth for other writes. */
const roomFactor = 2.1;

/**
 * Rewrites the file with VACUUM and then empties the log, which keeps writers waiting: for small files, and for those
 * that `scrubInPlace` cannot scrub. `secure_delete` alone leaves bytes in unused parts of pages.
 * The log is also emptied before: if a reader prevents that, VACUUM would only add a copy of the whole database to a log
 * that cannot shrink.
 *
 * Never waits for a lock, except up to `logWaitMillis` each time for readers to leave the log. A log left full after
 * VACUUM would be copied by the next commit of a daemon, which blocks its event loop for as long as the database is large.
 *
 * `rewritten` is the value an earlier call returned: erasures up to that number are already gone from the main file, and
 * only the log still has to be emptied.
 */
export function scrub(
  database: SqliteConnection,
  clock: Clock,
  { rewritten = 0, logWaitMillis = 0 }: ScrubOptions = {},
): Scrubbed {
  const { raw, file } = database;
  return withSqliteFaults(file, () =>
    withoutLockWait(raw, () => {
      try {
        return scrubNow(database, clock, rewritten, logWaitMillis);
      } catch (error) {
        if (isBusy(error)) return { kind: 'blocked', erasures: pendingErasures(database), rewritten };
        throw error;
      }
    }),
  );
}

export interface ScrubOptions {
  readonly rewritten?: number;
  readonly logWaitMillis?: number;
}

/** Returns the number of receipts that wait for a scrub, plus one if there are removals without a receipt. */
export function pendingErasures({ raw }: SqliteConnection): number {
  const count = `SELECT (SELECT count(*) FROM erasures WHERE scrubbed_at IS NULL)
                      + (SELECT count(*) FROM identity_residue)`;
  return raw.prepare<[], number>(count).pluck().get() ?? 0;
}

export interface InPlaceParts {
  /** Of the database file, opened for reading and writing before `database` was. */
  readonly descriptor: number;
  /** A second connection to the file. */
  readonly second: RawDatabase;
  /**
   * Begins to wait for readers to leave the log. What it returns waits a moment, and returns false once that wait has taken
   * long enough. Each wait has its own time: a pass over a large file takes seconds.
   */
  readonly patience: () => () => Promise<boolean>;
}

/**
 * Scrubs without keeping writers waiting: see overwrite-unused.ts. Returns null where that is not possible, or not worth
 * while because most of the file is unused: `scrub` then rewrites it, which also returns the space.
 */
export async function scrubInPlace(
  database: SqliteConnection,
  clock: Clock,
  { rewritten: rewrittenBefore, descriptor, second, patience }: InPlaceParts & { readonly rewritten: number },
): Promise<Scrubbed | null> {
  const { raw, file } = database;
  let rewritten = rewrittenBefore;
  const blocked = (): Scrubbed => ({ kind: 'blocked', erasures: pendingErasures(database), rewritten });
  /** A checkpoint that waits for a reader keeps all writers waiting, so this one does not wait while it checks. */
  const leaveLogEmpty = async () => {
    const pause = patience();
    for (;;) {
      raw.pragma('wal_checkpoint(PASSIVE)');
      if (withoutLockWait(raw, () => emptyLog(raw, 0))) return true;
      if (!(await pause())) return false;
    }
  };
  try {
    const last = takePending(database, clock);
    if (last === null) return { kind: 'clean' };
    if (rewritten < last) {
      if (mostlyUnused(raw) || !isSameFile(file, descriptor)) return null;
      if (!(await overwriteUnused(database, { descriptor, second, emptyLog: leaveLogEmpty })))
        return blocked();
      rewritten = last;
    }
    if (!(await leaveLogEmpty())) return blocked();
    return writeReceipts(database, clock, last);
  } catch (error) {
    if (error instanceof Unwalkable) return null;
    if (isBusy(error)) return blocked();
    // The file is also written to without SQLite.
    if (error instanceof Error && 'syscall' in error) throw unwritable(file, error);
    throw ownSqlFault(error, file);
  }
}

function mostlyUnused(raw: RawDatabase): boolean {
  const pages = (name: string) => Number(raw.pragma(name, { simple: true }));
  return pages('freelist_count') > pages('page_count') / 2;
}

/** Whether the path still names the opened file: it may have been replaced since. */
function isSameFile(file: string, descriptor: number): boolean {
  const [named, opened] = [statSync(file), fstatSync(descriptor)];
  return named.ino === opened.ino && named.dev === opened.dev;
}

function scrubNow(
  database: SqliteConnection,
  clock: Clock,
  rewrittenBefore: number,
  logWaitMillis: number,
): Scrubbed {
  const { raw, file } = database;
  const last = takePending(database, clock);
  if (last === null) return { kind: 'clean' };
  let rewritten = rewrittenBefore;
  const blocked = (): Scrubbed => ({ kind: 'blocked', erasures: pendingErasures(database), rewritten });
  if (!emptyLog(raw, logWaitMillis)) return blocked();
  if (rewritten < last) {
    const bytesMissing = missingRoom(file);
    if (bytesMissing > 0) return { kind: 'no_room', erasures: pendingErasures(database), bytesMissing };
    raw.exec('VACUUM');
    rewritten = last;
    if (!emptyLog(raw, logWaitMillis)) return blocked();
  }
  return writeReceipts(database, clock, last);
}

function writeReceipts({ raw }: SqliteConnection, clock: Clock, last: number): Scrubbed {
  const done = raw
    .prepare('UPDATE erasures SET scrubbed_at = ? WHERE scrubbed_at IS NULL AND erasure <= ?')
    .run(instantFromMillis(clock.now()), last);
  return { kind: 'scrubbed', erasures: done.changes };
}

/**
 * Returns the number of the newest pending receipt, or null. Turns the mark set by the triggers into a receipt, so that a
 * later removal sets a new mark.
 */
function takePending({ raw }: SqliteConnection, clock: Clock): number | null {
  return inTransaction(raw, () => {
    if (raw.prepare('DELETE FROM identity_residue').run().changes > 0)
      raw
        .prepare("INSERT INTO erasures (cause, invisible_at) VALUES ('removed', ?)")
        .run(instantFromMillis(clock.now()));
    const last = raw.prepare<[], number | null>(
      'SELECT max(erasure) FROM erasures WHERE scrubbed_at IS NULL',
    );
    return last.pluck().get() ?? null;
  });
}

function missingRoom(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file));
  return Math.max(0, Math.ceil(statSync(file).size * roomFactor - bavail * bsize));
}

function withoutLockWait<Result>(raw: SqliteConnection['raw'], work: () => Result): Result {
  const timeout = raw.pragma('busy_timeout', { simple: true });
  raw.pragma('busy_timeout = 0');
  try {
    return work();
  } finally {
    raw.pragma(`busy_timeout = ${timeout}`);
  }
}

/** Checkpoints and truncates the log. Returns false if a reader still needs it. */
function emptyLog(raw: SqliteConnection['raw'], waitMillis: number): boolean {
  raw.pragma(`busy_timeout = ${waitMillis}`);
  const [result] = raw.pragma('wal_checkpoint(TRUNCATE)') as readonly { busy: number }[];
  raw.pragma('busy_timeout = 0');
  return result?.busy === 0;
}
