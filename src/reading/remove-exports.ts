import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { systemRandom } from '../runtime/random.js';
import { madeBy } from '../store/backup/file-names.js';
import type { DatabaseLocation } from '../store/database-location.js';
import {
  doomedExports,
  doomedIn,
  mirrorName,
  publishedExports,
  unfinishedExports,
} from './exports-folder.js';
import { forgetMarkOf } from './forget-mark.js';

/** Deletes the unfinished exports of a mirror: those of killed processes, and one that is being written. Throws as `throwIfLeft`. */
export async function removeUnfinishedExports(
  folder: string,
  mirror: string,
  discard: Discard = discardExport,
): Promise<void> {
  throwIfLeft(await leftOf(unfinishedExports(folder, mirror), mirror, discard));
}

/** Deletes what earlier deletions could not. Throws as `throwIfLeft`. */
export async function finishDeletions(folder: string, mirror: string): Promise<void> {
  throwIfLeft(await leftOf(doomedExports(folder, mirror), mirror, removeDoomed));
}

/**
 * Deletes a folder of an export. It is renamed first, so that it is never seen with only some of its files, and so that
 * a process that still writes it cannot publish it.
 */
export async function discardExport(path: string, mirror: string): Promise<void> {
  const doomed = doomedIn(dirname(path), mirror, systemRandom);
  try {
    await rename(path, doomed);
  } catch (error) {
    // Another process published or deleted it at the same moment.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  await removeDoomed(doomed);
}

const removeDoomed = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

export type Discard = typeof discardExport;

export interface Discarded {
  readonly removed: readonly string[];
  /** `usage`, which names everything that could not be deleted; null when there is nothing. */
  readonly fault: Fault | null;
}

/** Deletes each of these folders, also after one that could not be deleted. */
export async function discardExports(paths: readonly string[], mirror: string): Promise<Discarded> {
  const left = await leftOf(paths, mirror, discardExport);
  const kept = new Set(left.map(({ path }) => path));
  return { removed: paths.filter((path) => !kept.has(path)), fault: faultOf(left) };
}

interface Left {
  readonly path: string;
  readonly error: NodeJS.ErrnoException;
}

/** Deletes what can be deleted. Returns the folders for which the system refused it. */
async function leftOf(paths: readonly string[], mirror: string, discard: Discard): Promise<readonly Left[]> {
  const left: Left[] = [];
  for (const path of paths)
    try {
      await discard(path, mirror);
    } catch (thrown) {
      const error = thrown as NodeJS.ErrnoException;
      if (error.code === undefined) throw error;
      left.push({ path, error });
    }
  return left;
}

function faultOf(left: readonly Left[]): Fault | null {
  const [first] = left;
  if (first === undefined) return null;
  const files = left.map(({ path, error }) => `${error.path ?? path} (${error.code})`).join(', ');
  return new Fault('usage', `exports cannot be deleted: ${files}`, {
    hint: 'Delete them as the user who owns them',
    cause: first.error,
  });
}

/** Throws `usage`, which names everything that could not be deleted. */
function throwIfLeft(left: readonly Left[]): void {
  const fault = faultOf(left);
  if (fault !== null) throw fault;
}

/**
 * Deletes all but the newest `keep` exports of a mirror. Those dated in the future are not counted and stay. Throws as
 * `throwIfLeft`.
 */
export async function pruneExports(folder: string, mirror: string, keep: number, now: number): Promise<void> {
  const { exports } = publishedExports(folder, mirror);
  const old = madeBy(exports, now).slice(keep);
  const { fault } = await discardExports(
    old.map((one) => one.folder),
    mirror,
  );
  if (fault !== null) throw fault;
}

export interface NamedExportsRemoved {
  readonly removed: readonly string[];
  /** Folders that may be exports with names, and were left alone. */
  readonly damaged: readonly string[];
}

/**
 * Deletes the exports of a mirror that may contain names, with unfinished ones and what earlier deletions left. Throws as
 * `throwIfLeft`.
 */
export async function removeNamedExports(
  folder: string,
  mirror: string,
  discard: Discard = discardExport,
): Promise<NamedExportsRemoved> {
  const doomed = await leftOf(doomedExports(folder, mirror), mirror, removeDoomed);
  // One that is published after this is found among the exports.
  const unfinished = await leftOf(unfinishedExports(folder, mirror), mirror, discard);
  const { exports, damaged } = publishedExports(folder, mirror);
  const removed = exports.filter(({ identity }) => identity).map((one) => one.folder);
  throwIfLeft([...doomed, ...unfinished, ...(await leftOf(removed, mirror, discard))]);
  return { removed, damaged };
}

/** Deletes the exports with names that were made before the newest forget request. */
export async function removeOutdatedExports(location: DatabaseLocation, folder: string): Promise<Discarded> {
  const mirror = mirrorName(location);
  const named = publishedExports(folder, mirror).exports.filter(({ identity }) => identity);
  if (named.length === 0) return { removed: [], fault: null };
  const mark = await forgetMarkOf(location);
  const outdated = named.filter(({ forget_mark }) => forget_mark !== mark).map((one) => one.folder);
  return await discardExports(outdated, mirror);
}
