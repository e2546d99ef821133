import { Fault, isFault } from '../../domain/fault.js';
import type { Clock } from '../../runtime/clock.js';
import type { DatabaseLocation } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import type { QueryHandle, QueryLimits } from '../dialect/port.js';
import { type Comments, statementText } from '../statement-text.js';

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
  const dialect = dialectFor(location);
  try {
    return await dialect.runQuery(sql, limits, clock, signal);
  } catch (error) {
    throw inWholeText(sql, dialect.comments, error);
  }
}

/** The databases count from the first word of the statement; people count from the beginning of their text. */
function inWholeText(sql: string, comments: Comments, error: unknown): unknown {
  if (!isFault(error) || error.about.place === undefined) return error;
  const { from, length } = error.about.place;
  const before = sql.length - statementText(sql, comments).length;
  return new Fault(error.code, error.message, { ...error.about, place: { from: from + before, length } });
}
