import { readdirSync, statSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { Fault, isFault } from '../../domain/fault.js';
import { replaceFile } from '../../runtime/replace-file.js';
import { viewsOf } from './current-rows.js';
import type { LakeDisk } from './disk.js';
import { unreadableFault } from './disk-fault.js';
import {
  type LakeIdentities,
  type LakeManifest,
  type LakeState,
  lockName,
  manifestPath,
  pointerName,
  readLake,
  readSnapshots,
  snapshotFolder,
  snapshotNumbers,
  tableNames,
  viewsName,
} from './layout.js';
import { isLeftLock } from './lock.js';

/** Folders of running syncs begin with this. */
export const workshopStart = '.sync-';

/**
 * Throws `usage` for a folder that has other content: files in it could be deleted as leftovers. So it does for one that
 * cannot be read.
 */
export function refuseForeign(folder: string): void {
  let names: readonly string[];
  try {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats === undefined) return;
    if (!stats.isDirectory())
      throw new Fault('usage', `${folder} is not a folder`, { hint: 'Name a new or empty folder.' });
    names = readdirSync(folder);
  } catch (error) {
    throw isFault(error) ? error : unreadableFault(folder, error);
  }
  if (names.every(isOwn) || names.includes(pointerName)) return;
  throw new Fault('usage', `${folder} has other content and no lake`, {
    hint: 'Name a new or empty folder.',
  });
}

/** What `replaceFile` leaves when its process is killed. */
const unfinishedNames: readonly string[] = [`${pointerName}.new`, `${viewsName}.new`];

const ownNames: ReadonlySet<string> = new Set([
  ...tableNames,
  ...[pointerName, viewsName, lockName, snapshotFolder],
  ...unfinishedNames,
]);

const isOwn = (name: string): boolean =>
  ownNames.has(name) || name.startsWith(workshopStart) || name.startsWith(`${lockName}.`);

const ownFile = /^\d{12}-[a-z]+-[0-9A-Za-z]{8}\.parquet$/;

/** Removes what a killed process left: its buffers, and files that no snapshot names. */
export async function removeLeftovers(
  folder: string,
  state: LakeState | null,
  disk: LakeDisk,
): Promise<void> {
  for (const name of readdirSync(folder))
    if (name.startsWith(workshopStart) || unfinishedNames.includes(name) || (await isLeftLock(folder, name)))
      await disk.remove(join(folder, name));
  // A snapshot that was never made current.
  for (const number of snapshotNumbers(folder))
    if (number > (state?.manifest.snapshot ?? 0)) await disk.remove(join(folder, manifestPath(number)));
  if (state !== null) await writeViews(folder, disk, state.manifest, state.pointer.identities);
  await removeUnnamed(folder, state, disk);
}

export async function writeViews(
  folder: string,
  disk: LakeDisk,
  manifest: LakeManifest,
  identities: LakeIdentities | null,
): Promise<void> {
  await replaceFile(join(folder, viewsName), viewsOf('', { manifest, identities }), disk);
}

/** Removes the oldest snapshots, then the files that no snapshot names any more. Returns the number of files. */
export async function removeUnneeded(folder: string, disk: LakeDisk, keep: number): Promise<number> {
  for (const number of snapshotNumbers(folder).slice(keep))
    await disk.remove(join(folder, manifestPath(number)));
  return await removeUnnamed(folder, readLake(folder), disk);
}

async function removeUnnamed(folder: string, state: LakeState | null, disk: LakeDisk): Promise<number> {
  const named = new Set<string>(state?.pointer.identities?.files.map(({ path }) => path));
  for (const { tables } of state === null ? [] : readSnapshots(folder, state))
    for (const { files } of Object.values(tables)) for (const { path } of files) named.add(path);
  let removed = 0;
  for (const table of tableNames) {
    for (const path of filesBelow(folder, table)) {
      if (named.has(path)) continue;
      await disk.remove(join(folder, path));
      removed += 1;
    }
  }
  return removed;
}

/** Returns rosterd's own data files of a table. */
export function filesBelow(folder: string, table: string): readonly string[] {
  if (statSync(join(folder, table), { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(join(folder, table), { recursive: true, encoding: 'utf8' })
    .map((path) => posix.join(table, path.split(sep).join('/')))
    .filter((path) => ownFile.test(posix.basename(path)));
}
