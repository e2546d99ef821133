import type { Instant } from '../../../domain/instant.js';
import { withSqliteFaults } from './faults.js';
import type { SqliteDatabase } from './open.js';
import { inTransaction } from './transaction.js';

/** Small enough that nobody waits for the lock. */
const rowsPerTransaction = 2_000;

/**
 * Forgets superseded versions that ended before `before`, some of them per call; answers how many. How far back
 * as-of still reaches is written down with them, so that no answer about the past is given from half of it.
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
      return raw
        .prepare(`DELETE FROM history_rows WHERE history_no IN (${chosen})`)
        .run(before, rowsPerTransaction).changes;
    }),
  );
}

/**
 * Ticks stand in the order they began in, save for those of a wrong clock: what is old stands among the first. An index
 * by time would be written by every commit, and read once an hour.
 */
const ticksLookedAt = 20_000;

/** Forgets ticks that began before `before`, some of them per call; answers how many. */
export function purgeTicks({ raw, file }: SqliteDatabase, before: Instant): number {
  return withSqliteFaults(
    file,
    () =>
      raw
        .prepare(
          `DELETE FROM tick_rows WHERE tick IN (
             SELECT tick FROM (SELECT tick, started_at FROM tick_rows ORDER BY tick LIMIT ${ticksLookedAt})
             WHERE started_at < ? LIMIT ?)`,
        )
        .run(before, rowsPerTransaction).changes,
  );
}
