import type { Config } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import { eraseInLake } from './lake.js';
import { mirrorName, removeNamedExports } from './publish-exports.js';

/** What an erasure did to files outside the database. */
export interface PublishedErased {
  /** Scheduled exports with names, deleted: the next one is made without what was erased. */
  readonly exports_removed: readonly string[];
  /** Folders named like exports whose manifest cannot be read: not deleted, though they may contain names. */
  readonly exports_damaged: readonly string[];
  /** The configured lake: `none` without names in it, `pending` when it could not be read or written now. */
  readonly lake: 'none' | 'rewritten' | 'pending';
}

/**
 * Removes from the exports and the lake of this host what was erased in the mirror: deletes the scheduled exports with
 * names, rewrites the files of people of the configured lake, and deletes the previous ones.
 */
export async function eraseInPublished(
  { database, exports, lake: { folder, keep } }: Pick<Config, 'database' | 'exports' | 'lake'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<PublishedErased> {
  const { removed, damaged } = await removeNamedExports(exports.folder, mirrorName(database));
  // A lake that cannot be written now is rewritten by the next run of `lake sync`, which also reports why this one failed.
  const lake = await eraseInLake(database, { folder, keep }, clock, signal).catch(() => 'pending' as const);
  return { exports_removed: removed, exports_damaged: damaged, lake };
}
