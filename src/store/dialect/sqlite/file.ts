import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { Fault } from '../../../domain/fault.js';
import { shellWord } from '../../../domain/shell-word.js';
import { makeOwnedFolder, openOwned } from '../../../runtime/file-owner.js';
import { isOpenHere } from './open-files.js';

/** "rost" as SQLite's application id: identifies files of rosterd. */
export const applicationId = 0x726f7374;

const headerBytes = 72;
const { R_OK, W_OK, X_OK } = constants;
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
    const hint = existsSync(file)
      ? permissionHint(file, codeOf(error))
      : `Check that ${dirname(file)} is a folder you may write to.`;
    throw unusable(file, `cannot be opened (${codeOf(error)})`, hint, error);
  }
}

/**
 * Removes all rights except the owner's and reading by the group, which an operator may have granted to analysts. Only
 * the owner of a file may do that: the mode of another user's file stays, and `rosterd doctor` reports it. Windows has no such
 * rights, and may refuse to change the mode of a file that is open.
 */
export function narrowMode(file: string): void {
  if (process.platform === 'win32') return;
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    if (!existsSync(path)) continue;
    const { mode } = statSync(path);
    if ((mode & 0o137) === 0) continue;
    try {
      chmodSync(path, mode & 0o640);
    } catch (error) {
      if (codeOf(error) !== 'EPERM') throw error;
    }
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

/** Which path lacks which permission, and what a person has to do about it. */
export interface MissingPermission {
  readonly what: string;
  readonly hint: string;
}

/**
 * Explains an error of SQLite, which names neither the path nor the permission. Returns null when this user may read and
 * write the database and the files beside it, and create those that are missing.
 */
export function missingPermission(file: string): MissingPermission | null {
  const real = realOf(file);
  const files = [real, ...besideOf(real)].filter((path) => existsSync(path));
  for (const path of files) {
    const missing = denied(path, 'read', R_OK);
    if (missing !== null) return missing;
  }
  for (const path of files) {
    const missing = denied(path, 'written to', W_OK);
    if (missing !== null) return missing;
  }
  const missing = besideOf(real).find((path) => !files.includes(path));
  if (missing === undefined) return null;
  const what = `written to, and SQLite has to create ${basename(missing)} there, even to read the database`;
  return denied(dirname(real), what, W_OK | X_OK);
}

/** Returns what a person has to do about a path that `access` refuses with this code. */
export function permissionHint(path: string, code: string): string {
  if (code === 'EROFS')
    return 'mount that file system writable, or name a file on another one under "database"';
  if (code === 'EPERM') return `lsattr -d ${shellWord(path)}, which shows whether it is immutable`;
  const stats = statSync(path, { throwIfNoEntry: false });
  const uid = process.geteuid?.();
  if (stats === undefined || uid === undefined || stats.uid === uid)
    return `chmod u+rw${stats?.isDirectory() === true ? 'x' : ''} ${shellWord(path)}`;
  return `run it as the owner of ${path}, such as with sudo -u rosterd, or chown it to the user that runs rosterd`;
}

const besideOf = (real: string): readonly string[] => [`${real}-wal`, `${real}-shm`];

/** SQLite follows links too, and keeps its files beside the target. */
function realOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function denied(path: string, what: string, mode: number): MissingPermission | null {
  try {
    accessSync(path, mode);
    return null;
  } catch (error) {
    const code = codeOf(error);
    // Another process may have removed a file that SQLite keeps beside the database.
    if (!['EACCES', 'EPERM', 'EROFS'].includes(code)) return null;
    return { what: `${path} may not be ${what} (${code})`, hint: permissionHint(path, code) };
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown';

const isDenied = (error: unknown): boolean => ['EACCES', 'EPERM'].includes(codeOf(error));

function unusable(file: string, what: string, hint: string, cause?: unknown): Fault {
  return new Fault('database_unusable', `${file} ${what}`, { hint, cause });
}
