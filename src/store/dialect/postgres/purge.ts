import type { Instant } from '../../../domain/instant.js';
import type { PostgresDatabase } from './open.js';
import { inTransaction } from './transaction.js';

/** Small enough that nobody waits for the locks of the sources. */
const rowsPerTransaction = 2_000;

/**
 * Forgets superseded versions that ended before `before`, some of them per call; answers how many. How far back
 * as-of still reaches is written down with them, so that no answer about the past is given from half of it.
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
    return row?.rows ?? 0;
  });
}

/** Forgets ticks that began before `before`, some of them per call; answers how many. */
export function purgeTicks(database: PostgresDatabase, before: Instant): Promise<number> {
  return inTransaction(database, (transaction) =>
    transaction.run(
      'DELETE FROM tick_rows WHERE tick IN (SELECT tick FROM tick_rows WHERE started_at < $1 LIMIT $2)',
      ...[before, rowsPerTransaction],
    ),
  );
}
