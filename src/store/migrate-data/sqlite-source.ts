import { Fault, isFault } from '../../domain/fault.js';
import { shellWord } from '../../domain/shell-word.js';
import type { Clock } from '../../runtime/clock.js';
import { isProcessGone, isProcessThere, processName } from '../../runtime/process-identity.js';
import { acceptingOnSqlite } from '../dialect/sqlite/accept-deliveries.js';
import { recoverDeliveries } from '../dialect/sqlite/delivery-journal.js';
import { withSqliteFaults } from '../dialect/sqlite/faults.js';
import { inspectFile } from '../dialect/sqlite/file.js';
import { appliedMigrations } from '../dialect/sqlite/migrate.js';
import { openSqlite, type SqliteDatabase } from '../dialect/sqlite/open.js';
import { isLeaseRunning } from '../lease-rules.js';
import { pendingMigrations, shippedMigrations } from '../migrate.js';
import { type MigratedTable, migratedTables } from './migrated-tables.js';
import { columnsOf, tableLines } from './table-lines.js';

export interface SourceOptions {
  readonly clock: Clock;
  readonly leaseMs: number;
}

/** The mirror to copy from. */
export interface MigrationSource {
  readonly counts: ReadonlyMap<string, number>;
  columns(table: MigratedTable): readonly string[];
  /** Returns the rows in COPY text format, several lines per chunk. */
  lines(table: MigratedTable): Iterable<string>;
  /** The last number of the change feed, even if its row was purged. */
  readonly lastSeq: number;
  /**
   * Names of the indexes on `investment_rows`. All are built before a first listing is published; the index of the ids
   * is built earlier if an identity is erased before that.
   */
  readonly indexes: readonly string[];
  close(): void;
}

/**
 * Opens the source without locking it, for a dry run. Throws in the same cases as `lockSource`, apart from a busy lock.
 */
export function lookAtSource(file: string, options: SourceOptions): MigrationSource {
  refuseOther(file);
  return prepared(openSqlite(file, { readonly: true }), options);
}

/**
 * Opens the source and holds SQLite's single write lock until it is closed. Processes that start during the copy can
 * read, but their writes fail as busy. A lease would not be enough, because it does not stop webhooks and erasures. First
 * moves the deliveries to the inbox that a daemon accepted and left beside the file, as its next start would have done.
 * Throws `database_unusable` for an older schema and `lease_lost` when another process uses the mirror.
 */
export function lockSource(file: string, options: SourceOptions): MigrationSource {
  openSqlite(file, { readonly: true }).close();
  const database = openSqlite(file);
  try {
    recoverDeliveries(file, acceptingOnSqlite(database.raw, file));
    withSqliteFaults(file, () => database.raw.exec('BEGIN IMMEDIATE'));
  } catch (error) {
    database.close();
    throw error;
  }
  return prepared(database, options);
}

function prepared(database: SqliteDatabase, options: SourceOptions): MigrationSource {
  const { file, raw } = database;
  const close = () => {
    if (raw.inTransaction) raw.exec('ROLLBACK');
    database.close();
  };
  try {
    return withSqliteFaults(file, () => {
      refusePending(database);
      refuseInUse(database, options);
      const one = (sql: string) => Number(raw.prepare(sql).pluck().get() ?? 0);
      const columns = (table: MigratedTable) => columnsOf(raw, table);
      return {
        counts: new Map(migratedTables.map(({ name }) => [name, one(`SELECT count(*) FROM ${name}`)])),
        columns,
        lines: (table) => tableLines(raw, table, columns(table)),
        lastSeq: one("SELECT seq FROM sqlite_sequence WHERE name = 'change_rows'"),
        indexes: raw
          .prepare<[], string>(
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'investment_rows'",
          )
          .pluck()
          .all(),
        close,
      };
    });
  } catch (error) {
    close();
    throw error;
  }
}

/** Throws as `inspectFile`, whose hints are about the configured mirror, and for a file that is missing or empty. */
function refuseOther(file: string): void {
  try {
    if (inspectFile(file) !== 'ours') throw new Fault('database_unusable', `${file} is not there, or empty`);
  } catch (error) {
    if (!isFault(error)) throw error;
    const hint =
      error.code === 'usage'
        ? 'Name a file with --from sqlite:FILE. Write a stream to one first.'
        : 'Name the file of a mirror with --from sqlite:FILE, and check who may read it.';
    throw new Fault(error.code, error.message, { hint, cause: error.about.cause });
  }
}

function refusePending(database: SqliteDatabase): void {
  const { length } = pendingMigrations(shippedMigrations('sqlite'), appliedMigrations(database));
  if (length > 0)
    throw new Fault(
      'database_unusable',
      `${database.file} has an older schema; migrations to run: ${length}`,
      {
        hint: `rosterd schema --apply --database ${shellWord(database.file)}`,
      },
    );
}

interface Holding {
  readonly source: string;
  readonly holder: string;
  readonly fence: number;
  readonly expires_at: string;
}

/**
 * Throws `lease_lost` when another process holds a valid lease, or released its lease between two ticks and still runs
 * on this host.
 */
export function refuseInUse(
  { file, raw }: Pick<SqliteDatabase, 'file' | 'raw'>,
  { clock, leaseMs }: SourceOptions,
): void {
  const leases = raw
    .prepare<[], Holding>(
      `SELECT s.name AS source, l.holder, l.fence, l.expires_at
       FROM leases l JOIN sources s ON s.no = l.source_no ORDER BY s.name`,
    )
    .all();
  const ours = (holder: string) => holder.startsWith(`${processName()}:`);
  const inUse = leases.find(
    (lease) =>
      (isLeaseRunning(lease, clock.now(), leaseMs) && !isProcessGone(lease.holder)) ||
      (isProcessThere(lease.holder) && !ours(lease.holder)),
  );
  if (inUse === undefined) return;
  throw new Fault('lease_lost', `${file} is in use: ${inUse.holder} syncs its source ${inUse.source}`, {
    hint: 'Stop that rosterd first, then run this again.',
  });
}
