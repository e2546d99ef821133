import { readdirSync, statSync } from 'node:fs';
import type { LakeDisk } from './disk.js';
import { diskFault } from './disk-fault.js';
import { lockName, pointerName, readLake } from './layout.js';
import { type LockParts, withLakeLock } from './lock.js';
import { filesBelow, refuseForeign, removeLeftovers, workshopStart } from './own-files.js';

/** Whether a lake has files of people: `named` by its current state, `removed` after a killed run left them, or `none`. */
export type PeopleInLake = 'named' | 'removed' | 'none';

/**
 * Deletes files of people that a killed run left and no state names. Throws `database_busy` while another process writes to
 * the lake, and `usage` for a damaged or newer lake, whose files of people are unknown.
 */
export async function removeUnnamedPeople(
  folder: string,
  parts: LockParts & { readonly disk: LakeDisk },
): Promise<PeopleInLake> {
  if (!mayHavePeople(folder)) return 'none';
  refuseForeign(folder);
  try {
    return await withLakeLock(folder, parts, async () => {
      const state = readLake(folder);
      const before = peopleFiles(folder);
      await removeLeftovers(folder, state, parts.disk);
      if ((state?.pointer.identities ?? null) !== null) return 'named';
      return before.length > 0 ? 'removed' : 'none';
    });
  } catch (error) {
    throw diskFault(folder, error);
  }
}

/** A folder with a lock and nothing else belongs to a first run that has just begun. */
function mayHavePeople(folder: string): boolean {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  return readdirSync(folder).some(
    (name) => [pointerName, lockName, 'identities'].includes(name) || name.startsWith(workshopStart),
  );
}

/** Temporary files of a run may contain people, too. */
export function peopleFiles(folder: string): readonly string[] {
  const buffers = readdirSync(folder).filter((name) => name.startsWith(workshopStart));
  return [...buffers, ...filesBelow(folder, 'identities')];
}
