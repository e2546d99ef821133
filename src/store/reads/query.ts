import type { Clock } from '../../runtime/clock.js';
import type { DatabaseLocation } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import type { QueryHandle, QueryLimits } from '../dialect/port.js';

export type { QueryHandle, QueryLimits, SqlValue } from '../dialect/port.js';

/**
 * Runs one user query that can be ended at any moment.
 *
 * Throws `usage` for SQL that does not parse, that writes, or that takes more time, bytes or memory than the limits
 * allow; `stopped` when `signal` fires; `database_unusable` and `database_busy` when the database cannot be opened.
 */
export async function runQuery(
  location: DatabaseLocation,
  sql: string,
  limits: QueryLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<QueryHandle> {
  return await dialectFor(location).runQuery(sql, limits, clock, signal);
}
