import type { Instant } from '../../../domain/instant.js';
import { catalogHistory, forgetValuesSql, lastOfSliceSql } from '../../plan-collection.js';
import { withSqliteFaults } from './faults.js';
import type { SqliteDatabase } from './open.js';
import { inTransaction } from './transaction.js';

/** Small enough that writers do not wait noticeably for the lock. */
const rowsPerTransaction = 2_000;

/** Rows scanned at a time. An index by time would cost every commit a write, for one read an hour. */
const rowsLookedAt = 20_000;

/**
 * Deletes superseded versions that ended before `before`, in batches: returns the number deleted by this call. The same
 * transaction updates how far back as-of queries may reach, so that none returns a partial past.
 */
export function purgeHistory({ raw, file }: SqliteDatabase, before: Instant): number {
  return withSqliteFaults(file, () =>
    inTransaction(raw, () => {
      const chosen = `SELECT history_no FROM history_rows
        WHERE source_no IN (SELECT no FROM sources) AND valid_to < ? ORDER BY source_no, valid_to LIMIT ?`;
      raw
        .prepare(
          `UPDATE sources SET history_from = max(coalesce(history_from, ''), gone.until)
           FROM (SELECT source_no, max(valid_to) AS until FROM history_rows
                 WHERE history_no IN (${chosen}) GROUP BY source_no) AS gone
           WHERE gone.source_no = sources.no`,
        )
        .run(before, rowsPerTransaction);
      const { changes } = raw
        .prepare(`DELETE FROM history_rows WHERE history_no IN (${chosen})`)
        .run(before, rowsPerTransaction);
      return changes + (changes < rowsPerTransaction ? purgeCatalog(raw, before) : 0);
    }),
  );
}

/** The same for companies and rounds, which are few. */
function purgeCatalog(raw: SqliteDatabase['raw'], before: Instant): number {
  let purged = 0;
  for (const table of catalogHistory) {
    raw
      .prepare(
        `UPDATE sources SET history_from = max(coalesce(history_from, ''), gone.until)
         FROM (SELECT source_no, max(valid_to) AS until FROM ${table} WHERE valid_to < ? GROUP BY source_no) AS gone
         WHERE gone.source_no = sources.no`,
      )
      .run(before);
    purged += raw.prepare(`DELETE FROM ${table} WHERE valid_to < ?`).run(before).changes;
  }
  return purged;
}

/**
 * Forgets what changes of companies, rounds and posts before `before` said, in the slice of the feed after the change with the
 * number `after`. Returns the number of the slice's last change; null at the end of the feed. Each purge reads all slices: changes
 * written while the clock was ahead expire later than younger ones behind them.
 */
export function forgetValues({ raw, file }: SqliteDatabase, before: Instant, after: number): number | null {
  return withSqliteFaults(file, () =>
    inTransaction(raw, () => {
      const last = raw
        .prepare<[number, number], number | null>(lastOfSliceSql)
        .pluck()
        .get(after, rowsLookedAt);
      if (last != null) raw.prepare(forgetValuesSql).run(before, after, last);
      return last ?? null;
    }),
  );
}

/**
 * Deletes ticks that began before `before`, in batches: returns the number deleted by this call. Ticks are stored in the
 * order they began, so old ones come first, unless ticks before them were written while the clock was ahead. So each call
 * scans the first ticks and, in addition, those after the previous call's scan, which `looked` remembers; at the end
 * the scan starts over.
 */
export function purgeTicks({ raw, file }: SqliteDatabase, before: Instant, looked: { upTo: number }): number {
  const scan = `SELECT tick, started_at FROM tick_rows WHERE tick > ? ORDER BY tick LIMIT ${rowsLookedAt}`;
  return withSqliteFaults(file, () =>
    inTransaction(raw, () => {
      const lastScanned = raw
        .prepare<[number], number | null>(`SELECT max(tick) FROM (${scan})`)
        .pluck()
        .get(looked.upTo);
      const { changes } = raw
        .prepare(
          `DELETE FROM tick_rows WHERE tick IN (
             SELECT tick FROM (SELECT * FROM (${scan}) UNION SELECT * FROM (${scan}))
             WHERE started_at < ? LIMIT ${rowsPerTransaction})`,
        )
        .run(0, looked.upTo, before);
      // If the scanned range may contain more old ticks than one transaction deletes, the next call scans it again.
      if (changes < rowsPerTransaction) looked.upTo = lastScanned ?? 0;
      return changes;
    }),
  );
}
