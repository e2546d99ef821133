import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import type { Scrubbed } from '../../erasures.js';
import type { SqliteConnection } from './connect.js';
import { withSqliteFaults } from './faults.js';
import { inTransaction } from './transaction.js';

/** VACUUM writes the database twice, into a temporary file and into the log; a tenth more for what else is written. */
const roomFactor = 2.1;

/**
 * Rewrites the file without its free pages (VACUUM: `secure_delete` alone leaves bytes in the gaps of used
 * pages), then empties the log. The log is emptied once before as well: if a reader makes that impossible,
 * rewriting now would only put a whole copy of the database into a log that cannot shrink.
 *
 * Waits for nobody. `rewritten` is what an earlier call answered: erasures up to it are out of the main file
 * already, and only the log beside it still has to go.
 */
export function scrub(database: SqliteConnection, clock: Clock, rewritten = 0): Scrubbed {
  const { raw, file } = database;
  return withSqliteFaults(file, () =>
    withoutWaiting(raw, () => {
      try {
        return scrubNow(database, clock, rewritten);
      } catch (error) {
        if (isBusy(error)) return { kind: 'blocked', erasures: pendingErasures(database), rewritten };
        throw error;
      }
    }),
  );
}

/** Receipts whose bytes still stand in the file, and one more for removals without a receipt. */
export function pendingErasures({ raw }: SqliteConnection): number {
  const count = `SELECT (SELECT count(*) FROM erasures WHERE scrubbed_at IS NULL)
                      + (SELECT count(*) FROM identity_residue)`;
  return raw.prepare<[], number>(count).pluck().get() ?? 0;
}

function scrubNow(database: SqliteConnection, clock: Clock, rewrittenBefore: number): Scrubbed {
  const { raw, file } = database;
  const last = takePending(database, clock);
  if (last === null) return { kind: 'clean' };
  let rewritten = rewrittenBefore;
  const blocked = (): Scrubbed => ({ kind: 'blocked', erasures: pendingErasures(database), rewritten });
  if (!emptyLog(raw)) return blocked();
  if (rewritten < last) {
    const bytesMissing = missingRoom(file);
    if (bytesMissing > 0) return { kind: 'no_room', erasures: pendingErasures(database), bytesMissing };
    raw.exec('VACUUM');
    rewritten = last;
    if (!emptyLog(raw)) return blocked();
  }
  const done = raw
    .prepare('UPDATE erasures SET scrubbed_at = ? WHERE scrubbed_at IS NULL AND erasure <= ?')
    .run(instantFromMillis(clock.now()), last);
  return { kind: 'scrubbed', erasures: done.changes };
}

/** Turns the mark left by the triggers into a receipt, so that a removal after this moment leaves a new one. */
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

function withoutWaiting<Result>(raw: SqliteConnection['raw'], work: () => Result): Result {
  const timeout = raw.pragma('busy_timeout', { simple: true });
  raw.pragma('busy_timeout = 0');
  try {
    return work();
  } finally {
    raw.pragma(`busy_timeout = ${timeout}`);
  }
}

/** Moves the log into the file and cuts it to nothing; false when a reader still needs it. */
function emptyLog(raw: SqliteConnection['raw']): boolean {
  const [result] = raw.pragma('wal_checkpoint(TRUNCATE)') as readonly { busy: number }[];
  return result?.busy === 0;
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}
