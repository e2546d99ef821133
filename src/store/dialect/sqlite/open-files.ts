import { statSync } from 'node:fs';

/*
 * POSIX gives locks to a process, not to a descriptor: closing any descriptor of a file drops every lock the process
 * holds on it. SQLite knows and shares one descriptor among its connections; a header that we read and close beside
 * them would drop their locks without a word, and the next program to open and close the file would take itself for
 * the last, and delete the log we write to. So which files are open is kept for the whole process, as its locks are.
 */
const openFiles = new Map<string, number>();

/** Whether a connection of this process holds the file. Then it must not be opened in any other way. */
export function isOpenHere(file: string): boolean {
  const key = keyOf(file);
  return key !== undefined && openFiles.has(key);
}

/** Says that a connection was opened. Answers what to call once it is closed; calling it again does nothing. */
export function markOpen(file: string): () => void {
  const key = keyOf(file);
  if (key === undefined) return () => {};
  openFiles.set(key, (openFiles.get(key) ?? 0) + 1);
  let open = true;
  return () => {
    if (!open) return;
    open = false;
    const left = (openFiles.get(key) ?? 1) - 1;
    if (left === 0) openFiles.delete(key);
    else openFiles.set(key, left);
  };
}

/** Two paths may name one file; its locks go by device and inode. */
function keyOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file);
    return `${dev}:${ino}`;
  } catch {
    // Not there, or not reachable: nobody has it open, and opening it will say why.
    return undefined;
  }
}
