import type { Config } from '../config/config.js';
import type { OpenMirror } from '../daemon/mirror-parts.js';
import type { Instant } from '../domain/instant.js';
import { eraseInLake } from '../reading/lake.js';
import { mirrorName, removeNamedExports } from '../reading/publish-exports.js';
import type { Clock } from '../runtime/clock.js';
import { dialectFor } from '../store/dialect/dialect-for.js';

/** What became of the copies of erased identity: bytes in the database files, backups, exports and the lake. */
export interface ErasedCopies {
  /** `scrubbed`: no byte is left in the files of the database. Otherwise a running daemon finishes the scrub. */
  readonly bytes: 'scrubbed' | 'blocked' | 'no_room';
  readonly pending: number;
  readonly pending_since: Instant | null;
  /** Backups made before a schema migration, deleted because they contain every identity. */
  readonly backups_removed: readonly string[];
  /** Scheduled exports with names, deleted: the next one is made without the person. */
  readonly exports_removed: readonly string[];
  /** Folders named like exports whose manifest cannot be read: not deleted, though they may contain names. */
  readonly exports_damaged: readonly string[];
  /** The configured lake: `none` without names in it, `pending` when it could not be read or written now. */
  readonly lake: 'none' | 'rewritten' | 'pending';
  /** Whether other hosts may use this mirror: their exports and lakes were not seen. */
  readonly other_hosts: boolean;
}

/** Removes what other places than the tables still contain of erased identity. */
export async function eraseCopies(
  config: Config,
  { erasures, upkeep }: Pick<OpenMirror, 'erasures' | 'upkeep'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<ErasedCopies> {
  const backups = upkeep.removeBackups(Number.POSITIVE_INFINITY);
  const scrubbed = await upkeep.scrub(0, signal);
  const { receipts, since } = await erasures.pending();
  const exports = await removeNamedExports(config.exports.folder, mirrorName(config.database));
  return {
    // The process that blocked the scrub may have been scrubbing itself, this erasure included.
    bytes: scrubbed.kind === 'clean' || receipts === 0 ? 'scrubbed' : scrubbed.kind,
    pending: receipts,
    pending_since: since,
    backups_removed: backups,
    exports_removed: exports.removed,
    exports_damaged: exports.damaged,
    lake: await rewriteLake(config, clock, signal),
    other_hosts: dialectFor(config.database).file === null,
  };
}

/** Rewrites the files of people of the configured lake, and deletes the previous ones. */
async function rewriteLake(
  { database, lake: { folder, keep } }: Config,
  clock: Clock,
  signal: AbortSignal,
): Promise<ErasedCopies['lake']> {
  try {
    return await eraseInLake(database, { folder, keep }, clock, signal);
  } catch {
    // It is erased from the mirror already, so the next run of `lake sync` erases it here, too. It also reports
    // why this one failed.
    return 'pending';
  }
}
