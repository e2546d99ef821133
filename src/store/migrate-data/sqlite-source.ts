import { Fault } from '../../domain/fault.js';
import type { Clock } from '../../runtime/clock.js';
import { isProcessGone, isProcessThere, processName } from '../../runtime/process-identity.js';
import { withSqliteFaults } from '../dialect/sqlite/faults.js';
import { appliedMigrations } from '../dialect/sqlite/migrate.js';
import { openSqlite, type SqliteDatabase } from '../dialect/sqlite/open.js';
import { isLeaseRunning } from '../lease-rules.js';
import { pendingMigrations, shippedMigrations } from '../migrate.js';
import { type CarriedTable, carriedTables } from './carried-tables.js';
import { type CopyValue, copyLine, numbersToArray } from './copy-text.js';

export interface SourceOptions {
  readonly clock: Clock;
  readonly leaseMs: number;
}

/** The mirror that is carried over. Nothing is written to it. */
export interface CarrySource {
  readonly counts: ReadonlyMap<string, number>;
  columns(table: CarriedTable): readonly string[];
  /** Lines of COPY, some at a time. */
  lines(table: CarriedTable): Iterable<string>;
  /** The last number of the change feed, whether its row is still there or was purged. */
  readonly lastSeq: number;
  /** Of the investments. All are built before a first listing is published, the one of ids earlier if somebody is erased. */
  readonly indexes: readonly string[];
  close(): void;
}

/** For a look: refuses what `lockSource` would. */
export function lookAtSource(file: string, options: SourceOptions): CarrySource {
  return prepared(openSqlite(file, { readonly: true }), options);
}

/**
 * Holds SQLite's one lock for writers until it is closed: whoever starts in the middle reads, and every write of theirs
 * is refused as busy. That is more than a lease could do, because it also keeps out webhooks and erasures.
 */
export function lockSource(file: string, options: SourceOptions): CarrySource {
  openSqlite(file, { readonly: true }).close();
  const database = openSqlite(file);
  try {
    withSqliteFaults(file, () => database.raw.exec('BEGIN IMMEDIATE'));
  } catch (error) {
    database.close();
    throw error;
  }
  return prepared(database, options);
}

function prepared(database: SqliteDatabase, options: SourceOptions): CarrySource {
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
      const columns = ({ name }: CarriedTable) =>
        raw.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(name);
      return {
        counts: new Map(carriedTables.map(({ name }) => [name, one(`SELECT count(*) FROM ${name}`)])),
        columns,
        lines: (table) => lines(database, table, columns(table)),
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

const lettersAtOnce = 64 * 1024;

function* lines(
  { raw }: SqliteDatabase,
  { name, key, numbers }: CarriedTable,
  columns: readonly string[],
): Generator<string> {
  const rows = raw
    .prepare<[], CopyValue[]>(`SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${key.join(', ')}`)
    .raw()
    .safeIntegers()
    .iterate();
  const array = numbers === undefined ? -1 : columns.indexOf(numbers);
  let text = '';
  for (const row of rows) {
    if (array !== -1) row[array] = numbersToArray(row[array] ?? null);
    text += copyLine(row);
    if (text.length < lettersAtOnce) continue;
    yield text;
    text = '';
  }
  if (text !== '') yield text;
}

function refusePending(database: SqliteDatabase): void {
  const { length } = pendingMigrations(shippedMigrations('sqlite'), appliedMigrations(database));
  if (length > 0)
    throw new Fault(
      'database_unusable',
      `${database.file} has an older schema, ${length} behind this version`,
      {
        hint: `rosterd schema --apply --database ${database.file}`,
      },
    );
}

interface Holding {
  readonly source: string;
  readonly holder: string;
  readonly fence: number;
  readonly expires_at: string;
}

/** Who holds a lease, and who gave it back between two ticks and is still running on this machine. */
function refuseInUse({ file, raw }: SqliteDatabase, { clock, leaseMs }: SourceOptions): void {
  const held = raw
    .prepare<[], Holding>(
      `SELECT s.name AS source, l.holder, l.fence, l.expires_at
       FROM leases l JOIN sources s ON s.no = l.source_no ORDER BY s.name`,
    )
    .all();
  const ours = (holder: string) => holder.startsWith(`${processName()}:`);
  const inUse = held.find(
    (lease) =>
      (isLeaseRunning(lease, clock.now(), leaseMs) && !isProcessGone(lease.holder)) ||
      (isProcessThere(lease.holder) && !ours(lease.holder)),
  );
  if (inUse === undefined) return;
  throw new Fault('lease_lost', `${file} is in use: ${inUse.holder} works its source ${inUse.source}`, {
    hint: 'Stop that rosterd first, then run this again.',
  });
}
