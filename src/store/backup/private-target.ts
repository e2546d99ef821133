import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../../domain/fault.js';

/**
 * Runs `work` with the name of a new, empty file of mode 0600 and renames that file to `file` afterwards. So `file` is
 * always complete, and a failure leaves an existing one as it was. Throws `usage` when the folder cannot be written to.
 */
export async function intoPrivateFile<Result>(
  file: string,
  work: (unfinished: string) => Promise<Result>,
): Promise<Result> {
  const unfinished = createUnfinished(file);
  try {
    const result = await work(unfinished);
    syncFile(unfinished);
    renameSync(unfinished, file);
    syncFile(dirname(file));
    return result;
  } finally {
    removeWithLog(unfinished);
  }
}

const unfinishedName = (file: string, pid: number): string =>
  join(dirname(file), `.${basename(file)}.${pid}.tmp`);

/** Removes what a killed process left. */
export function removeUnfinished(file: string, pid: number): void {
  removeWithLog(unfinishedName(file, pid));
}

function createUnfinished(file: string): string {
  const unfinished = unfinishedName(file, process.pid);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Left by a process that was killed and had the same number.
    removeWithLog(unfinished);
    closeSync(openSync(unfinished, 'wx', 0o600));
    return unfinished;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new Fault('usage', `cannot write to ${dirname(file)} (${code})`, {
      hint: 'Name a file in a folder that this user can write to.',
      cause,
    });
  }
}

export function removeWithLog(file: string): void {
  for (const end of ['', '-journal', '-wal', '-shm'])
    if (statOf(`${file}${end}`) !== null) rmSync(`${file}${end}`, { force: true });
}

/** Makes the content of a file durable, or the entries of a folder. */
export function syncFile(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Returns whether two paths name one file. */
export function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map(statOf);
  return first != null && second != null && first.dev === second.dev && first.ino === second.ino;
}

/** Returns null for a path that leads nowhere, such as one through a file. */
export function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
