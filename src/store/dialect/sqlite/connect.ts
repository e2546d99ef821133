import Sqlite from 'better-sqlite3';
import { Fault } from '../../../domain/fault.js';
import { newestMigration } from '../../newest-migration.js';
import { withSqliteFaults } from './faults.js';
import { applicationId, createPrivateFile, inspectFile, narrowMode } from './file.js';
import { markOpen } from './open-files.js';

/** A connection for plain SQL. Does not load the query builder, which takes longer than many commands. */
export interface SqliteConnection {
  readonly file: string;
  readonly raw: Sqlite.Database;
  close(): void;
}

export interface OpenOptions {
  /** Opens the file read-only. Works while the daemon runs and while it is stopped. */
  readonly readonly?: boolean;
  /** Never creates the file: for child processes of a program that has it open. Read-only connections never do. */
  readonly mustExist?: boolean;
  /** How long to wait for another program's write lock. Keep it short: the wait blocks this process. */
  readonly busyTimeoutMs?: number;
}

export const busyTimeoutMsDefault = 2_000;
/** Chosen to keep the peak memory of a large first listing within its budget; a larger cache was not faster. */
const cacheKibibytes = 32 * 1_024;
/** 4 MB. A checkpoint blocks the event loop while it copies the log. A daemon prefers pauses: see `IdleCheckpoints`. */
const checkpointPages = 1_024;
const walBytesKept = 64 * 1_024 * 1_024;

/**
 * Opens the mirror's file, and creates it unless `readonly` or `mustExist`. Throws `database_unusable`, `database_busy` or
 * `database_full`. Never changes a file of another program.
 */
export function connectSqlite(file: string, options: OpenOptions = {}): SqliteConnection {
  const timeout = options.busyTimeoutMs ?? busyTimeoutMsDefault;
  return options.readonly === true
    ? openToRead(file, timeout)
    : openToWrite(file, timeout, options.mustExist === true);
}

function openToWrite(file: string, timeout: number, mustExist: boolean): SqliteConnection {
  const found = inspectFile(file);
  if (mustExist && found !== 'ours')
    throw new Fault('database_unusable', `${file} is not there any more`, {
      hint: 'Stop rosterd and move the file back, together with the -wal file beside it.',
    });
  if (found !== 'ours') createPrivateFile(file);
  return withSqliteFaults(file, () => {
    narrowMode(file);
    const raw = new Sqlite(file, { timeout, fileMustExist: true });
    const closed = markOpen(file);
    return closedOnFailure(raw, closed, () => {
      if (found !== 'ours') raw.pragma(`application_id = ${applicationId}`);
      raw.pragma('journal_mode = WAL');
      // Without this, a reopened WAL database uses NORMAL, which may lose the last commits in a power cut.
      raw.pragma('synchronous = FULL');
      raw.pragma('foreign_keys = ON');
      raw.pragma('secure_delete = ON');
      raw.pragma('trusted_schema = OFF');
      // Sorting in temporary files could write names to the disk.
      raw.pragma('temp_store = MEMORY');
      raw.pragma(`cache_size = -${cacheKibibytes}`);
      raw.pragma(`wal_autocheckpoint = ${checkpointPages}`);
      raw.pragma(`journal_size_limit = ${walBytesKept}`);
      refuseNewer(file, raw);
      const close = () => {
        closeWriter(file, raw);
        closed();
      };
      return { file, raw, close };
    });
  });
}

function openToRead(file: string, timeout: number): SqliteConnection {
  if (inspectFile(file) !== 'ours')
    throw new Fault('database_unusable', `${file} is not there yet`, {
      hint: 'Run `rosterd sync` or `rosterd run` first: they create and fill it.',
    });
  return withSqliteFaults(file, () => {
    const raw = new Sqlite(file, { readonly: true, fileMustExist: true, timeout });
    const closed = markOpen(file);
    return closedOnFailure(raw, closed, () => {
      raw.pragma('query_only = ON');
      raw.pragma('trusted_schema = OFF');
      raw.pragma('temp_store = MEMORY');
      raw.pragma(`cache_size = -${cacheKibibytes}`);
      refuseNewer(file, raw);
      const close = () => {
        raw.close();
        closed();
      };
      return { file, raw, close };
    });
  });
}

function closedOnFailure<Result>(raw: Sqlite.Database, closed: () => void, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    raw.close();
    closed();
    throw error;
  }
}

function refuseNewer(file: string, raw: Sqlite.Database): void {
  const version = Number(raw.pragma('user_version', { simple: true }));
  const known = newestMigration('sqlite');
  if (version <= known) return;
  const writtenBy = raw
    .prepare<[], string>('SELECT version FROM migrations ORDER BY number DESC LIMIT 1')
    .pluck()
    .get();
  throw new Fault(
    'database_unusable',
    `${file} has schema ${version}, written by rosterd ${writtenBy ?? 'of a later version'}; this one knows up to ${known}`,
    { hint: 'Install that version or a later one, or restore the backup beside the file.' },
  );
}

/**
 * Closes the connection but keeps the -wal and -shm files, because a user without write access to the folder can open
 * the database only if they exist. The last connection to close deletes them, except a read-only one: so a read-only
 * connection is closed last. The log is emptied first.
 */
function closeWriter(file: string, raw: Sqlite.Database): void {
  if (!raw.open) return;
  let reader: Sqlite.Database | undefined;
  try {
    // Do not wait: a checkpoint waiting for a reader would delay the shutdown.
    raw.pragma('busy_timeout = 0');
    raw.pragma('wal_checkpoint(TRUNCATE)');
    reader = new Sqlite(file, { readonly: true, fileMustExist: true });
    reader.pragma('schema_version');
  } catch {
    // The file may have been moved, or a writer is busy: just close.
  }
  raw.close();
  reader?.close();
}
