import type { Clock } from '../../runtime/clock.js';
import { type MirrorPlace, secretUrlOf } from '../database-location.js';
import { queryPostgres } from '../dialect/postgres/query.js';
import { querySqlite } from '../dialect/sqlite/query.js';

/** A value as the database holds it; integers beyond 2^53 stay whole. */
export type SqlValue = null | number | bigint | string | Uint8Array;

export interface QueryLimits {
  readonly timeoutMs: number;
  /** Null for all rows. */
  readonly rowsMax: number | null;
  /** The bytes of one row, as the database holds them (default: 64 MB). A larger one ends the query with `usage`. */
  readonly rowBytesMax?: number;
  /** The bytes of all rows; null, the default, for a result that is written on as it is found. */
  readonly bytesMax?: number | null;
  /** What the process of a query on SQLite may take (default: 2 GB). On PostgreSQL the server has limits of its own. */
  readonly memoryMegabytes?: number;
  /** False refuses, as `usage`, what would read people; unless given they may be read. */
  readonly identity?: boolean;
}

export interface QueryHandle {
  readonly columns: readonly string[];
  /** Rows as they are found, each with its values in the order of `columns`. To be read once. */
  readonly rows: AsyncIterable<readonly SqlValue[]>;
  /** Whether `rowsMax` cut the result short; true or false once `rows` has ended. */
  truncated(): boolean;
  /** Ends the query, wherever it is. Does nothing after its end. */
  close(): void;
}

/** Text of one cell that a person could still mean to read; less than the longest text of the engine. */
export const rowBytesMaxDefault = 64 * 1_048_576;

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
