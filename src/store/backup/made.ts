import { Fault } from '../../domain/fault.js';
import type { Instant } from '../../domain/instant.js';
import type { Clock } from '../../runtime/clock.js';
import type { ErasedSource } from '../erased-sources.js';
import type { ForgottenSince } from '../erasures.js';

/** `sqlite`: a database file. `pg_dump`: PostgreSQL's custom format. `copy`: rosterd's own archive of COPY data. */
export type BackupFormat = 'sqlite' | 'pg_dump' | 'copy';

/** The rows of one table, and a digest over them in the order of its key; null where none was computed. */
export interface TableProof {
  readonly table: string;
  readonly rows: number;
  readonly sha256: string | null;
}

export interface BackupMade {
  readonly file: string;
  readonly format: BackupFormat;
  readonly bytes: number;
  readonly made_at: Instant;
  readonly schema: number;
  readonly rows: number;
  readonly tables: readonly TableProof[];
  /** Why another format was used than the preferred one; null normally. */
  readonly note: string | null;
}

export interface BackupParts {
  readonly clock: Clock;
  /** Version of rosterd, stored in the backup. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Called with the copied share, from 0 to 1. */
  onShare?(share: number): void;
  /** Waits until the disk has what was written to a file. Replaced in tests. */
  datasync?(descriptor: number): void;
}

export interface RestoreParts {
  readonly clock: Clock;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Replaces an existing mirror. */
  readonly force: boolean;
  readonly leaseMs: number;
  /** How long to wait for a lock of the server. */
  readonly lockMs?: number;
  /** Whether identities may be stored. */
  readonly identity: 'keep' | 'drop';
  /** The follow rules that store none. */
  readonly namelessRules?: readonly string[];
}

export interface RestoreHooks {
  /**
   * Called with everyone and every source that the existing mirror must keep erased, before it is replaced. Stores the
   * people apart from the database, and returns everyone to forget.
   */
  remember(forgotten: readonly ForgottenSince[], sources: readonly ErasedSource[]): readonly ForgottenSince[];
  /**
   * Applies migrations, every forget request and the erasure of those sources: to the file that will replace the mirror, or
   * to the mirror itself.
   */
  prepare(file: string | null): Promise<void>;
}

export interface Restored {
  readonly format: BackupFormat;
  /** When the backup was made; null for a copy that does not say so. */
  readonly made_at: Instant | null;
  /** The schema of the backup. */
  readonly schema: number;
  readonly rows: number;
  /** Whether the rows were compared with the digests in the backup; false for `pg_dump`, which has none. */
  readonly proven: boolean;
  /** Where a damaged mirror was moved to; null when there was none. */
  readonly moved_aside: string | null;
}

export const rowsIn = (tables: readonly TableProof[]): number =>
  tables.reduce((all, { rows }) => all + rows, 0);

export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new Fault('stopped', 'stopped before the end; nothing was replaced');
}
