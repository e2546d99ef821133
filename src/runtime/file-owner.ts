import { lstat, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

const othersWrite = 0o022;
const groupReads = 0o040;
const allRead = 0o004;

/**
 * Returns user, group and mode of a secret's file that root writes, or null where the writing user should keep it with mode
 * 0600: those of the file before, or user and group of the folder for a new one. Otherwise a command that root runs once would
 * take a sign-in away from the daemon's user, or from the group through which it reads a file of root. The file is never
 * readable by all. In a folder that others may write to, anyone could have put the file there.
 */
export async function ownerFor(path: string): Promise<Owner | null> {
  if (process.geteuid?.() !== 0) return null;
  try {
    const folder = await stat(dirname(path));
    const before = await lstat(path).catch(() => null);
    const isThere = before?.isFile() === true;
    const { uid, gid } = isThere ? before : folder;
    const isTheirs = (folder.mode & othersWrite) === 0 && (folder.uid === 0 || folder.uid === uid);
    if (!isTheirs || (uid === 0 && !isThere)) return null;
    // One that all could read has the mode of new files, which nobody chose.
    const isShared = isThere && (before.mode & allRead) === 0;
    const mode = 0o600 | (isShared ? before.mode & groupReads : 0);
    const isRoots = uid === 0 && gid === process.getegid?.() && mode === 0o600;
    return isRoots ? null : { uid, gid, mode };
  } catch {
    return null;
  }
}
