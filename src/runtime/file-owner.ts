import { lstat, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const othersWrite = 0o022;

/**
 * Returns the user to whom a secret's file belongs that root writes, or null where the writing user should keep it: that of
 * the file before, or that of the folder for a new one. Otherwise a command that root runs once would take a sign-in away
 * from the daemon's user. In a folder that others may write to, anyone could have put the file there.
 */
export async function ownerFor(path: string): Promise<Owner | null> {
  if (process.geteuid?.() !== 0) return null;
  try {
    const folder = await stat(dirname(path));
    const before = await lstat(path).catch(() => null);
    const { uid, gid } = before?.isFile() === true ? before : folder;
    const isTheirs = (folder.mode & othersWrite) === 0 && (folder.uid === 0 || folder.uid === uid);
    return isTheirs && uid !== 0 ? { uid, gid } : null;
  } catch {
    return null;
  }
}
