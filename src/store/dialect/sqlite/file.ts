import { chmodSync, closeSync, existsSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '../../../domain/fault.js';
import { makeOwnedFolder, openOwned } from '../../../runtime/file-owner.js';
import { isOpenHere } from './open-files.js';

/** "rost" as SQLite's application id: identifies files of rosterd. */
export const applicationId = 0x726f7374;

const headerBytes = 72;
const magic = 'SQLite format 3\0';

/**
 * Checks the file's header before SQLite opens it, because opening another program's database may write to it (journal
 * recovery). Throws `database_unusable` if the file is not rosterd's, and `usage` for a folder, a pipe or a device. The
 * application id is set before WAL mode is enabled, so it is in the file itself and never only in the log.
 */
export function inspectFile(file: string): 'absent' | 'empty' | 'ours' {
  if (isOpenHere(file)) return 'ours';
  const kind = kindOf(file);
  if (kind === null) return 'absent';
  // Opening a pipe would block the process until another one writes to it.
  if (kind !== 'file')
    throw new Fault('usage', `${file} is a ${kind}, not a database file`, {
      hint: 'Name a file with --database, or under "database" in the configuration, such as data/mirror.db.',
    });
  const header = Buffer.alloc(headerBytes);
  const read = readHeader(file, header);
  if (read === 0) return 'empty';
  if (read < headerBytes || header.toString('latin1', 0, 16) !== magic)
    throw unusable(
      file,
      'is not a SQLite database',
      'Name another file under "database" in the configuration.',
    );
  if (header.readUInt32BE(68) !== applicationId)
    throw unusable(
      file,
      'belongs to another program',
      'Name another file under "database"; this one was left as it is.',
    );
  return 'ours';
}

/**
 * Returns what the path names, links followed; null when nothing is there. Throws `database_unusable` for a folder that
 * this user may not enter: a file that is there must not read as absent.
 */
function kindOf(file: string): 'file' | 'folder' | 'pipe' | 'socket' | 'device' | null {
  let stats: Stats | undefined;
  try {
    stats = statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if (isDenied(error)) throw unreadable(file, error);
    // Below a file, for example: creating it there reports why.
  }
  if (stats === undefined) return null;
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  if (stats.isFIFO()) return 'pipe';
  return stats.isSocket() ? 'socket' : 'device';
}

/** Creates the file with mode 0600 before SQLite does. SQLite gives -wal and -shm the mode and owner of their database. */
export function createPrivateFile(file: string): void {
  try {
    makeOwnedFolder(dirname(file));
    closeSync(openOwned(file));
    chmodSync(file, 0o600);
  } catch (error) {
    const hint = `Check that ${dirname(file)} is a folder you may write to.`;
    throw unusable(file, `cannot be opened (${codeOf(error)})`, hint, error);
  }
}

/** Removes all rights except the owner's and reading by the group, which an operator may have granted to analysts. */
export function narrowMode(file: string): void {
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    if (!existsSync(path)) continue;
    const { mode } = statSync(path);
    if ((mode & 0o137) !== 0) chmodSync(path, mode & 0o640);
  }
}

function readHeader(file: string, header: Buffer): number {
  try {
    const descriptor = openSync(file, 'r');
    try {
      return readSync(descriptor, header, 0, header.length, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, error: unknown): Fault {
  const hint = isDenied(error)
    ? `Run it as the owner of ${dirname(file)}, such as with sudo -u rosterd, or let this user read both.`
    : `Check ${file} and its disk.`;
  return unusable(file, `cannot be opened (${codeOf(error)})`, hint, error);
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown';

const isDenied = (error: unknown): boolean => ['EACCES', 'EPERM'].includes(codeOf(error));

function unusable(file: string, what: string, hint: string, cause?: unknown): Fault {
  return new Fault('database_unusable', `${file} ${what}`, { hint, cause });
}
