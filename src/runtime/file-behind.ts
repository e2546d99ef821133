import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { Fault } from '../domain/fault.js';

/** As many links as Linux follows. */
const linksMax = 40;

/**
 * Returns the file that a path leads to if it is a symbolic link, whether the file exists or not; else the path. SQLite
 * keeps its log beside the file and not beside the link, and a rename would replace the link. `mayFollow` is called with
 * each link and may throw.
 */
export function fileBehind(path: string, mayFollow: (link: string) => void = () => {}): string {
  let file = path;
  for (let links = 0; links < linksMax; links += 1) {
    const next = afterLink(file);
    if (next === null) return file;
    mayFollow(file);
    file = next;
  }
  return path;
}

/**
 * Returns a text that two paths share when they name one file: through a folder that is a link, or with another case where
 * the file system ignores it. A link is a file of its own. Returns the path itself while there is no file, and for a file
 * with several names: to replace one of them leaves the others.
 */
export function fileIdentity(path: string): string {
  try {
    const { dev, ino, nlink } = lstatSync(path, { bigint: true });
    // Some file systems do not number their files, or number two alike.
    const name = basename(path).normalize('NFC').toLowerCase();
    return ino === 0n || nlink > 1n ? path : `${dev}:${ino}:${name}`;
  } catch {
    return path;
  }
}

/** Returns null for no link, or nothing there. */
function afterLink(file: string): string | null {
  try {
    return resolve(realpathSync(dirname(file)), readlinkSync(file));
  } catch {
    return null;
  }
}

/**
 * Returns the file to write when a person names `path`: of a symbolic link, the file behind it, as a shell writes with `>`.
 * Throws `usage` for a link of another user in a folder where every user may put one, such as /tmp: Linux does not follow it
 * for a program that writes, because it could lead to any file of the person.
 */
export const writtenFile = (path: string): string => fileBehind(path, refuseStrangeLink);

const everybodyWrites = 0o1002;

function refuseStrangeLink(link: string): void {
  const folder = statSync(dirname(link));
  const { uid } = lstatSync(link);
  const isShared = (folder.mode & everybodyWrites) === everybodyWrites;
  if (!isShared || uid === process.geteuid?.() || uid === folder.uid) return;
  throw new Fault('usage', `${link} is a link of another user in a folder that every user may write to`, {
    hint: 'Name another file.',
  });
}
