import type { Clock } from '../../runtime/clock.js';
import { type MirrorPlace, secretUrlOf } from '../database-location.js';
import type { QueryHandle, QueryLimits } from '../dialect/port.js';
import { queryPostgres } from '../dialect/postgres/query.js';
import { querySqlite } from '../dialect/sqlite/query.js';

export type { QueryHandle, QueryLimits, SqlValue } from '../dialect/port.js';

/**
 * Runs one reading statement of somebody's own, which can be ended at any moment.
 *
 * Throws `usage` for SQL that does not parse, writes, or takes more time, bytes or memory than the limits allow, `stopped` when `signal`
 * fires, `database_unusable` and `database_busy` as every opening does.
 */
export async function runQuery(
  place: MirrorPlace,
  sql: string,
  limits: QueryLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<QueryHandle> {
  return place.kind === 'sqlite'
    ? await querySqlite(place.file, sql, limits, clock, signal)
    : await queryPostgres(await secretUrlOf(place), sql, limits, clock, signal);
}
