import type { Instant } from '../../../domain/instant.js';
import { catalogHistory, forgetValuesSql, lastOfSliceSql } from '../../plan-collection.js';
import type { PostgresDatabase } from './open.js';
import { numbered } from './placeholders.js';
import { inTransaction, type Transaction } from './transaction.js';

/** Small enough that writers do not wait noticeably for the lock on their source. */
const rowsPerTransaction = 2_000;

/** Changes scanned at a time. An index by time would cost every commit a write, for one read an hour. */
const rowsLookedAt = 20_000;

/**
 * Deletes superseded versions that ended before `before`, in batches: returns the number deleted by this call. The same
 * transaction updates how far back as-of queries may reach, so that none returns a partial past.
 */
export function purgeHistory(database: PostgresDatabase, before: Instant): Promise<number> {
  return inTransaction(database, async (transaction) => {
    const row = await transaction.row<{ rows: number }>(
      `WITH gone AS (
         DELETE FROM history_rows WHERE history_no IN (
           SELECT history_no FROM history_rows WHERE valid_to < $1 ORDER BY valid_to LIMIT $2
         ) RETURNING source_no, valid_to
       ), reach AS (
         UPDATE sources s SET history_from = greatest(coalesce(s.history_from, ''), g.until)
         FROM (SELECT source_no, max(valid_to) AS until FROM gone GROUP BY source_no) g
         WHERE g.source_no = s.no
       )
       SELECT count(*) AS rows FROM gone`,
      ...[before, rowsPerTransaction],
    );
    const rows = row?.rows ?? 0;
    return rows + (rows < rowsPerTransaction ? await purgeCatalog(transaction, before) : 0);
  });
}

/** The same for companies and rounds, which are few. */
async function purgeCatalog(transaction: Transaction, before: Instant): Promise<number> {
  let purged = 0;
  for (const table of catalogHistory) {
    const row = await transaction.row<{ rows: number }>(
      `WITH gone AS (DELETE FROM ${table} WHERE valid_to < $1 RETURNING source_no, valid_to), reach AS (
         UPDATE sources s SET history_from = greatest(coalesce(s.history_from, ''), g.until)
         FROM (SELECT source_no, max(valid_to) AS until FROM gone GROUP BY source_no) g
         WHERE g.source_no = s.no
       )
       SELECT count(*) AS rows FROM gone`,
      before,
    );
    purged += row?.rows ?? 0;
  }
  return purged;
}

/**
 * Forgets what changes of companies, rounds and posts before `before` said, in the slice of the feed after the change with the
 * number `after`. Returns the number of the slice's last change; null at the end of the feed. Each purge reads all slices: changes
 * written while the clock was ahead expire later than younger ones behind them.
 */
export function forgetValues(
  database: PostgresDatabase,
  before: Instant,
  after: number,
): Promise<number | null> {
  return inTransaction(database, async (transaction) => {
    const slice = await transaction.row<{ last: number | null }>(
      numbered(lastOfSliceSql),
      after,
      rowsLookedAt,
    );
    const last = slice?.last ?? null;
    if (last !== null) await transaction.run(numbered(forgetValuesSql), before, after, last);
    return last;
  });
}

/** Deletes ticks that began before `before`, in batches: returns the number deleted by this call. */
export function purgeTicks(database: PostgresDatabase, before: Instant): Promise<number> {
  return inTransaction(database, (transaction) =>
    transaction.run(
      'DELETE FROM tick_rows WHERE tick IN (SELECT tick FROM tick_rows WHERE started_at < $1 LIMIT $2)',
      ...[before, rowsPerTransaction],
    ),
  );
}
