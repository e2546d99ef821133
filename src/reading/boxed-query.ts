import type { Instant } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { type QueryHandle, runQuery, type SqlValue } from '../store/reads/query.js';

export const megabyte = 1_048_576;

/** The limits of a statement whose result is kept in memory: those of the SQL page and of assistants. */
export const boxLimits = { seconds: 5, rows: 1_000, megabytes: 4 } as const;

/** The limit of one row, which is in memory as a whole. */
export const boxRowBytesMax = boxLimits.megabytes * megabyte;
/** The memory limit of one query process; two queries may run at once. */
export const boxMemoryMegabytes = 512;

export interface BoxedReading {
  /** False refuses statements that would read names. */
  readonly identity: boolean;
  /** False refuses statements that would read the audit log. */
  readonly audit?: boolean;
  readonly asOf?: Instant;
}

export interface BoxedResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlValue[])[];
  readonly truncated: boolean;
  readonly tookMs: number;
  readonly younger: QueryHandle['younger'];
}

/** Runs one statement of a user within these limits. Throws as `runQuery` does. */
export async function runBoxedQuery(
  location: DatabaseLocation,
  sql: string,
  reading: BoxedReading,
  clock: Clock,
  signal: AbortSignal,
): Promise<BoxedResult> {
  const limits = {
    timeoutMs: boxLimits.seconds * 1_000,
    rowsMax: boxLimits.rows,
    ...reading,
    rowBytesMax: boxRowBytesMax,
    memoryMegabytes: boxMemoryMegabytes,
    bytesMax: boxLimits.megabytes * megabyte,
  };
  const handle = await runQuery(location, sql, limits, clock, signal);
  // Measures what the time limit covers: from the compiled statement to its last row.
  const began = clock.monotonic();
  const rows: (readonly SqlValue[])[] = [];
  for await (const row of handle.rows) rows.push(row);
  const tookMs = Math.round(clock.monotonic() - began);
  const { columns, younger } = handle;
  return { columns, rows, truncated: handle.truncated(), tookMs, younger };
}
