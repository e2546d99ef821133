import type { Kysely } from 'kysely';
import { Fault } from '../../domain/fault.js';
import type { Instant } from '../../domain/instant.js';
import type { Clock } from '../../runtime/clock.js';
import type { Interruption } from '../../runtime/interruption.js';
import type { BackupNames } from '../backup/file-names.js';
import type { BackupMade, BackupParts, Restored, RestoreHooks, RestoreParts } from '../backup/made.js';
import type { DocumentedQuery } from '../documented-queries.js';
import type { Readings } from '../mirror-database.js';
import type { YoungerSource } from '../reads/as-of-reach.js';
import type { ReadDatabase } from '../reads/views.js';
import type { Comments } from '../statement-text.js';

/**
 * What a database at one location offers to readers. `dialectFor` returns it. Every method loads the driver it needs
 * when it is called, so that a command on SQLite never loads `pg`.
 */
export interface DatabaseDialect {
  /** The mirror's own file; null for a database on a server. */
  readonly file: string | null;
  /** Whether several daemons may share the database. */
  readonly shared: boolean;
  readonly comments: Comments;
  /** Returns the text of a documented query for this database. */
  sqlOf(query: Pick<DocumentedQuery, 'sql' | 'postgres'>): string;
  /** Returns whether a mirror has been created there. */
  exists(): Promise<boolean>;
  /** Returns whether a daemon that starts has yet to create the mirror there, or to migrate it to this version. */
  awaitsMigration(): Promise<boolean>;
  /** Throws `database_unusable`, `database_busy`. Never creates a missing mirror. */
  openReader(options?: ReaderOptions): Promise<Reader>;
  /** Reads without blocking the event loop: SQLite is read in a child process. */
  openReadings(clock: Clock): Promise<ReadingsApart>;
  /** Lets `work` run several queries on one state of the mirror, on a connection that cannot write. */
  inSnapshot<Result>(work: (ask: Ask) => Promise<Result>): Promise<Result>;
  openSnapshots(): Promise<Snapshots>;
  /** As `inSnapshot`, for results of any size. */
  inRowSnapshot<Result>(work: (ask: AskRows) => Promise<Result>): Promise<Result>;
  openChangeSignal(db: Kysely<ReadDatabase>, clock: Clock): Promise<ChangeSignal>;
  /** Runs one user query that can be ended at any moment. */
  runQuery(sql: string, limits: QueryLimits, clock: Clock, signal: AbortSignal): Promise<QueryHandle>;
  readonly backupNames: BackupNames;
  /** Writes a verified backup to `target` while daemons work. Blocks the event loop for a file. */
  backUp(target: string, parts: BackupParts): Promise<BackupMade>;
  /** Replaces the mirror by a backup. Refuses while any process uses it. */
  restore(backup: string, parts: RestoreParts, hooks: RestoreHooks): Promise<Restored>;
}

/** A connection of its own that cannot write. */
export interface Reader extends Readings {
  /** Returns an error of the database as a `Fault`, and any other error unchanged. */
  faultOf(error: unknown): Promise<unknown>;
  close(): Promise<void>;
}

export interface ReaderOptions {
  /**
   * How long a query may take before the connection counts as broken (`database_busy`). A server ends one a little earlier, as
   * when it waits for a lock. Default: no limit.
   */
  readonly answerMillis?: number;
  /** How long a query waits for a lock of another transaction of a server (`database_busy`). Default: no limit. */
  readonly lockMillis?: number;
  /**
   * Whether every query and stream reads the same state of the mirror. Then only one can run at a time, and SQLite cannot
   * shorten its write-ahead log until the reader is closed. Default: each reads the newest state.
   */
  readonly oneState?: boolean;
}

/** Readings that do not block the event loop. */
export interface ReadingsApart {
  /** As `readMirror`. When `gone` aborts, its client has gone, and it may throw `stopped`. */
  read<Result>(work: (db: Kysely<ReadDatabase>) => Promise<Result>, gone?: Interruption): Promise<Result>;
  close(): Promise<void>;
}

/** The error of a reading whose client has gone. */
export const abandonedReading = () => new Fault('stopped', 'the client has gone');

/** Runs SQL that both databases understand. Values are sent as parameters. */
export type Ask = <Row>(
  text: TemplateStringsArray,
  ...values: readonly (string | number)[]
) => Promise<readonly Row[]>;

/**
 * Runs SQL that both databases understand and yields the rows as they are read. A `?` stands for a value. One result at
 * a time: each has to end before the next begins.
 */
export type AskRows = <Row>(sql: string, values?: readonly (string | number)[]) => AsyncIterable<Row>;

/** Takes snapshots repeatedly; a connection that is expensive to open stays open between them. */
export interface Snapshots {
  /** As `inSnapshot`. */
  take<Result>(work: (ask: Ask) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Signals when the change feed is worth reading again. */
export interface ChangeSignal {
  /** Resolves when changes may have been committed since the previous call, and when `signal` fires. */
  next(signal: AbortSignal): Promise<void>;
  /**
   * Returns the highest number that the feed has assigned, also to a change that was deleted with its source. Null when
   * this user may not read it.
   */
  lastAssigned(): Promise<number | null>;
  close(): Promise<void>;
}

/** How often the change feed is polled where the database sends no notifications: each poll is one index lookup. */
export const pollMillis = 200;

/** A value as the database stores it. Integers beyond 2^53 stay exact. */
export type SqlValue = null | number | bigint | string | Uint8Array;

export interface QueryLimits {
  readonly timeoutMs: number;
  /** With false, the time in which the reader does not ask for more rows does not count. Default: true. */
  readonly countsReader?: boolean;
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
  /** False refuses statements that would read what users of the console did or asked for. Default: true. */
  readonly audit?: boolean;
  /** Reads the public views as they stood at this time. Throws `usage` when the history does not reach back to it. */
  readonly asOf?: Instant;
}

export interface QueryHandle {
  readonly columns: readonly string[];
  /** Rows as they are found, each with its values in the order of `columns`. Can be iterated once. */
  readonly rows: AsyncIterable<readonly SqlValue[]>;
  /** With `asOf`: the sources that the mirror did not have yet. */
  readonly younger: readonly YoungerSource[];
  /** Returns whether `rowsMax` cut the result short. Only valid after `rows` has ended. */
  truncated(): boolean;
  /** Ends the query wherever it is. Has no effect after its end. */
  close(): void;
}
