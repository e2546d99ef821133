import { closeSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../../domain/fault.js';
import { makeOwnedFolder } from '../../runtime/file-owner.js';
import { isRunning, processSpace } from '../../runtime/process-identity.js';
import { statOf } from '../../runtime/same-file.js';
import { syncFileNow, syncFolderNow } from '../../runtime/sync-file.js';
import { unwritable } from '../../runtime/unwritable.js';
import { isScheduledName } from './file-names.js';

/**
 * Runs `work` with the name of a new, empty file of mode 0600 and renames that file to `file` afterwards. So `file` is
 * always complete, and a failure leaves an existing one as it was. Before it begins, it removes what killed processes left
 * unfinished in that folder. Throws `usage` when the folder cannot be written to.
 */
export async function intoPrivateFile<Result>(
  file: string,
  now: number,
  work: (unfinished: string) => Promise<Result>,
): Promise<Result> {
  const isOfBackup = (name: string) => name === basename(file) || isScheduledName(name);
  removeAbandoned(dirname(file), isOfBackup, now - strangeMillisMax);
  const unfinished = createUnfinished(file);
  writing.add(unfinished);
  try {
    const result = await work(unfinished);
    try {
      syncFileNow(unfinished);
      renameSync(unfinished, file);
      syncFolderNow(dirname(file));
    } catch (error) {
      throw unwritable(file, error);
    }
    return result;
  } finally {
    removeWithLog(unfinished);
    writing.delete(unfinished);
  }
}

/** The unfinished files of this process. */
const writing = new Set<string>();

/** A process that this one cannot look for, in another container for example, has ended after this time. */
const strangeMillisMax = 86_400_000;

const unfinishedName = (file: string, pid: number): string =>
  join(dirname(file), `.${basename(file)}.${pid}-${processSpace()}.tmp`);

/** The name of an unfinished file, of its log, or of the copy that SQLite's migration makes of it. */
const unfinishedShape = /^\.(.+)\.(\d{1,10})-(\d*-[\da-f]*)\.tmp(?:-journal|-wal|-shm|\.schema-.*)?$/;

/**
 * Removes unfinished files whose process has ended, and their logs: each is a copy of the mirror with every name.
 * `isOfBackup` chooses by the name that the file would have got. Files of processes that this one cannot look for are
 * removed if they were last written before `before`. Returns the paths.
 */
export function removeAbandoned(
  folder: string,
  isOfBackup: (name: string) => boolean,
  before: number,
): readonly string[] {
  return namesIn(folder).flatMap((entry) => {
    const [, name = '', pid = '', space = ''] = unfinishedShape.exec(entry) ?? [];
    const path = join(folder, entry);
    const isChosen = name !== '' && isOfBackup(name) && isAbandoned(path, Number(pid), space, before);
    return isChosen && isRemoved(path) ? [path] : [];
  });
}

/** A folder that cannot be read is reported when it is written to. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** A file of another user stays, and stops no backup. */
function isRemoved(path: string): boolean {
  try {
    rmSync(path, { force: true });
    return true;
  } catch {
    return false;
  }
}

function isAbandoned(path: string, pid: number, space: string, before: number): boolean {
  if (space !== processSpace()) return (statOf(path)?.mtimeMs ?? Number.POSITIVE_INFINITY) < before;
  // An earlier process may have had the number of this one.
  return pid === process.pid ? ![...writing].some((own) => path.startsWith(own)) : !isRunning(pid);
}

/** Removes scheduled backups that killed processes left unfinished in a folder. Returns the paths. */
export const removeAbandonedBackups = (folder: string, now: number): readonly string[] =>
  removeAbandoned(folder, isScheduledName, now - strangeMillisMax);

/** Removes what a killed process left. */
export function removeUnfinished(file: string, pid: number): void {
  removeWithLog(unfinishedName(file, pid));
}

function createUnfinished(file: string): string {
  const unfinished = unfinishedName(file, process.pid);
  try {
    makeOwnedFolder(dirname(file));
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
  removeIfThere(file);
  removeLog(file);
}

/** Removes what SQLite keeps beside a file that is replaced: it would be applied to the new one. */
export function removeLog(file: string): void {
  for (const end of ['-journal', '-wal', '-shm']) removeIfThere(`${file}${end}`);
}

function removeIfThere(file: string): void {
  if (statOf(file) !== null) rmSync(file, { force: true });
}
