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

/** Ticks looked at in one go. An index by time would be written by every commit, and read once an hour. */
const ticksLookedAt = 20_000;

/**
 * Forgets ticks that began before `before`, some of them per call; answers how many. They stand in the order they
 * began in, so what is old stands first, save behind ticks of a clock that was ahead: so each call also looks at some
 * behind those that the call before looked at, which `looked` remembers, and begins anew at the end.
 */
export function purgeTicks({ raw, file }: SqliteDatabase, before: Instant, looked: { upTo: number }): number {
  const some = `SELECT tick, started_at FROM tick_rows WHERE tick > ? ORDER BY tick LIMIT ${ticksLookedAt}`;
  return withSqliteFaults(file, () =>
    inTransaction(raw, () => {
      const last = raw
        .prepare<[number], number | null>(`SELECT max(tick) FROM (${some})`)
        .pluck()
        .get(looked.upTo);
      const { changes } = raw
        .prepare(
          `DELETE FROM tick_rows WHERE tick IN (
             SELECT tick FROM (SELECT * FROM (${some}) UNION SELECT * FROM (${some}))
             WHERE started_at < ? LIMIT ${rowsPerTransaction})`,
        )
        .run(0, looked.upTo, before);
      // Where more of them may be old than one transaction takes, the next call looks at them again.
      if (changes < rowsPerTransaction) looked.upTo = last ?? 0;
      return changes;
    }),
  );
}
