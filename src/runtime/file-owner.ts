import {
  constants,
  fchownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

const othersWrite = 0o022;
const allWrite = 0o002;
const groupReads = 0o040;
const allRead = 0o004;

/*
 * Files and folders that root makes where another user owns the folder. Root leaves them to that user: a daemon has to read
 * what a command made that root ran.
 */

/**
 * Returns user, group and mode of a private file that root writes, or null where the writing user should keep it with mode
 * 0600: those of the file before, or user and group of the folder for a new one. Otherwise a command that root runs once would
 * take a sign-in away from the daemon's user, or from the group through which it reads a file of root. The file is never
 * readable by all. In a folder that others may write to, anyone could have put the file there, unless it is the folder's user's.
 */
export function ownerFor(path: string): Owner | null {
  if (process.geteuid?.() !== 0) return null;
  try {
    const folder = statSync(dirname(path));
    const before = fileAt(path);
    if (before === null) return ownerIn(dirname(path));
    const { uid, gid } = before;
    const refused = uid !== 0 && folder.uid === uid ? allWrite : othersWrite;
    if ((folder.mode & refused) !== 0 || (folder.uid !== 0 && folder.uid !== uid)) return null;
    // A file that all users can read has the mode of new files, which is a default and no decision.
    const isShared = (before.mode & allRead) === 0;
    const mode = 0o600 | (isShared ? before.mode & groupReads : 0);
    const isRoots = uid === 0 && gid === process.getegid?.() && mode === 0o600;
    return isRoots ? null : { uid, gid, mode };
  } catch {
    return null;
  }
}

/**
 * Returns the same for a new file or folder in a folder: its user and group. The folder of a user may be one that the group may
 * write to, as it is with the umask 0002 that many systems give their users.
 */
export function ownerIn(folder: string): Owner | null {
  if (process.geteuid?.() !== 0) return null;
  const { uid, gid, mode } = statSync(folder);
  return uid === 0 || (mode & allWrite) !== 0 ? null : { uid, gid, mode: 0o600 };
}

function fileAt(path: string): Stats | null {
  try {
    const found = lstatSync(path);
    return found.isFile() ? found : null;
  } catch {
    return null;
  }
}

/**
 * Creates a folder, and those above it, and returns the first one that it created. Node's own recursive `mkdir` never ends
 * below /proc and other file systems that answer ENOENT although the folder above is there. This one throws that error.
 */
export function makeFolders(folder: string, mode = 0o700): string | undefined {
  const path = resolve(folder);
  try {
    mkdirSync(path, { mode });
    return path;
  } catch (error) {
    if (isFolder(path)) return undefined;
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || isFolder(above)) throw error;
    const first = makeFolders(above, mode);
    const made = makeFolders(path, mode);
    return first ?? made;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Creates a folder with mode 0700, and those above it. */
export function makeOwnedFolder(folder: string): void {
  const path = resolve(folder);
  const first = makeFolders(path);
  const owner = first === undefined ? null : ownerIn(dirname(first));
  if (first === undefined || owner === null) return;
  // From the inside out: a folder that is given away may be replaced by a link.
  for (let at = path; at.length >= first.length; at = dirname(at)) giveTo(owner, at);
}

/** Gives a file or a folder to a user and group; of a link, the link. Null leaves it as it is. */
export function giveTo(owner: Owner | null, path: string): void {
  if (owner !== null) whereAllowed(() => lchownSync(path, owner.uid, owner.gid));
}

/** Some file systems have no owners, and root may lack the right; then a file stays root's alone. */
function whereAllowed(change: () => void): void {
  try {
    change();
  } catch {}
}

/** Opens a file to read and to append. A new one has mode 0600. */
export function openOwned(path: string): number {
  const { O_RDWR, O_APPEND, O_CREAT, O_EXCL } = constants;
  const flags = O_RDWR | O_APPEND | O_CREAT;
  const owner = ownerIn(dirname(path));
  if (owner === null) return openSync(path, flags, 0o600);
  let descriptor: number;
  try {
    // Exclusively, so that no link is followed: what it leads to is not to be given away.
    descriptor = openSync(path, flags | O_EXCL, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return openSync(path, flags, 0o600);
  }
  whereAllowed(() => fchownSync(descriptor, owner.uid, owner.gid));
  return descriptor;
}
