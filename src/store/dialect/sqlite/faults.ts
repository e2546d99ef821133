import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Fault } from '../../../domain/fault.js';
import { descriptorsSpent } from '../../../runtime/file-descriptors.js';
import { missingPermission } from './file.js';
import { olderSchemaFault } from './older-schema.js';

/**
 * Returns the `Fault` for an error of SQLite. Errors that are not listed (constraints, misuse, a value of the wrong type)
 * are bugs of rosterd and are returned unchanged.
 */
export function sqliteFault(error: unknown, file: string): unknown {
  if (!(error instanceof Sqlite.SqliteError)) return error;
  const primary = error.code.split('_').slice(0, 2).join('_');
  switch (primary) {
    case 'SQLITE_BUSY':
    case 'SQLITE_LOCKED':
      return new Fault('database_busy', `another program holds the write lock of ${file}`, {
        hint: 'Close the program that writes to the file. Readers never block; open it read-only.',
        cause: error,
      });
    case 'SQLITE_PROTOCOL':
      return new Fault('database_busy', `other programs kept ${file} from being read for seconds`, {
        hint: `${goesOn} If it stays, close the other programs that use the file.`,
        cause: error,
      });
    case 'SQLITE_FULL':
      return full(error, file);
    case 'SQLITE_NOMEM':
      return new Fault('database_busy', `${file} cannot be read or written: no memory left (${error.code})`, {
        hint: `${goesOn} If it stays, give the process or its machine more memory.`,
        cause: error,
      });
    case 'SQLITE_CORRUPT':
    case 'SQLITE_NOTADB':
      return new Fault('database_unusable', `${file} is damaged or not a database (${error.code})`, {
        // SQLite reports a page that the disk could not read as damage, too.
        hint: 'Check its disk and the log of the kernel first: what cannot be read counts as damage. Move the file aside, keep it, and start again: the mirror rebuilds itself from the platform.',
        cause: error,
      });
    case 'SQLITE_IOERR':
      return descriptorsSpent(error) ?? ofSystem(error, file);
    case 'SQLITE_CANTOPEN':
      return descriptorsSpent(error) ?? unusable(error, file);
    case 'SQLITE_READONLY':
    case 'SQLITE_PERM':
    case 'SQLITE_AUTH':
    case 'SQLITE_NOLFS':
      return unusable(error, file);
    default:
      return error;
  }
}

/** I/O errors about what the file contains. */
const damages: ReadonlySet<string> = new Set([
  'SQLITE_IOERR_SHORT_READ',
  'SQLITE_IOERR_DATA',
  'SQLITE_IOERR_CORRUPTFS',
]);
/** What SQLite writes beside a page at once takes less, such as the index of its log, which grows by 32 kB. */
const roomBytes = 1_048_576;

/**
 * An error of the operating system. SQLite does not say which one: a full disk where it does not expect one, a quota, a
 * limit of the size of a file, a network file system that was away, a broken disk. Most of them pass, so they are retried.
 */
function ofSystem(error: { readonly code: string }, file: string): Fault {
  if (damages.has(error.code)) return unusable(error, file);
  if (roomBeside(file) < roomBytes) return full(error, file);
  const missing = missingPermission(file);
  const what = missing?.what ?? `${file} cannot be read or written at the moment (${error.code})`;
  return new Fault('database_busy', what, {
    hint: missing?.hint ?? 'check its disk, and the quota of its owner',
    lasting: true,
    cause: error,
  });
}

function roomBeside(file: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(file));
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

const goesOn = 'A daemon goes on by itself; run a command again.';

function full(error: unknown, file: string): Fault {
  return new Fault('database_full', `no room left to write ${file}`, {
    hint: `Free space on the disk; nothing was lost. ${goesOn}`,
    cause: error,
  });
}

function unusable(error: { readonly code: string }, file: string): Fault {
  const missing = missingPermission(file);
  const what = missing?.what ?? `${file} cannot be read or written (${error.code})`;
  return new Fault('database_unusable', what, {
    hint: missing?.hint ?? `Check the disk and who owns ${file} and its folder.`,
    cause: error,
  });
}

/**
 * Like `sqliteFault`, for rosterd's own statements. They are valid for rosterd's schema, so an error in a statement
 * means that the schema in the file is damaged: `database_unusable`.
 */
export function ownSqlFault(error: unknown, file: string): unknown {
  if (!(error instanceof Sqlite.SqliteError) || error.code !== 'SQLITE_ERROR' || !unsound.test(error.message))
    return sqliteFault(error, file);
  const older = /^no such /.test(error.message) ? olderSchemaFault(file, error) : null;
  if (older !== null) return older;
  return new Fault(
    'database_unusable',
    `${file} is damaged: its format, tables, views or triggers are not ours`,
    {
      hint: 'Move the file aside, keep it, and start again: the mirror rebuilds itself from the platform.',
      cause: error,
    },
  );
}

const unsound =
  /^no such |^unsupported file format|^malformed |syntax error|^unrecognized token|^incomplete input/;

export function withSqliteFaults<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw ownSqlFault(error, file);
  }
}
