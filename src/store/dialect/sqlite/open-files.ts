import { statSync } from 'node:fs';

/*
 * POSIX locks belong to a process, not to a descriptor: closing any descriptor of a file releases all locks the process
 * has on it. SQLite handles this among its own connections. But reading the header with another descriptor and closing it
 * would silently release their locks; the next program to open and close the file would then consider itself the last
 * one, and delete the log that is in use. So the process keeps track of the files it has open.
 */
const openFiles = new Map<string, number>();

/** Returns whether a connection of this process has the file open. Then it must not be opened in any other way. */
export function isOpenHere(file: string): boolean {
  const key = keyOf(file);
  return key !== undefined && openFiles.has(key);
}

/** Registers an open connection. Returns a function to call once it is closed; calling it again does nothing. */
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

/** Identifies a file by device and inode, as its locks do: two paths may name one file. */
function keyOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file);
    return `${dev}:${ino}`;
  } catch {
    // Missing or unreachable: not open here, and opening it will report why.
    return undefined;
  }
}
