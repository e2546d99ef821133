import type { Readings } from '../mirror-database.js';

/** A connection of its own that cannot write. */
export interface Reader extends Readings {
  /** Returns an error of the database as a `Fault`, and any other error unchanged. */
  faultOf(error: unknown): unknown;
  close(): Promise<void>;
}

export interface ReaderOptions {
  /** How long a query may take before the connection counts as broken (`database_busy`). Default: no limit. */
  readonly answerMillis?: number;
}

/** Runs SQL that both databases understand. Values are sent as parameters. */
export type Ask = <Row>(
  text: TemplateStringsArray,
  ...values: readonly (string | number)[]
) => Promise<readonly Row[]>;

/** Takes snapshots repeatedly; a connection that is expensive to open stays open between them. */
export interface Snapshots {
  /** As `inSnapshot`. */
  take<Result>(work: (ask: Ask) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Signals when the change feed is worth reading again. */
export interface ChangeNews {
  /** Resolves when changes may have been committed since the previous call, and when `signal` fires. */
  next(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** How often the change feed is polled where the database sends no notifications: each poll is one index lookup. */
export const pollMillis = 200;

/** A value as the database stores it. Integers beyond 2^53 stay exact. */
export type SqlValue = null | number | bigint | string | Uint8Array;

export interface QueryLimits {
  readonly timeoutMs: number;
  /** Null for all rows. */
  readonly rowsMax: number | null;
  /** The stored size of one row in bytes (default: 64 MB). A larger row ends the query with `usage`. */
  readonly rowBytesMax?: number;
  /** The size of all rows in bytes. Null, the default, for a result that is streamed and not kept. */
  readonly bytesMax?: number | null;
  /** The memory of the query process on SQLite (default: 2 GB). PostgreSQL servers have limits of their own. */
  readonly memoryMegabytes?: number;
  /** False refuses statements that would read names and addresses with `usage`. Default: true. */
  readonly identity?: boolean;
}

export interface QueryHandle {
  readonly columns: readonly string[];
  /** Rows as they are found, each with its values in the order of `columns`. Can be iterated once. */
  readonly rows: AsyncIterable<readonly SqlValue[]>;
  /** Returns whether `rowsMax` cut the result short. Only valid after `rows` has ended. */
  truncated(): boolean;
  /** Ends the query wherever it is. Has no effect after its end. */
  close(): void;
}
