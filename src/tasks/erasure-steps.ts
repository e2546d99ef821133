import type { Config } from '../config/config.js';
import { ForgottenLedger } from '../daemon/forgotten-ledger.js';
import type { OpenMirror } from '../daemon/mirror-parts.js';
import { identityRules, openMirror } from '../daemon/open-mirror.js';
import { Fault, isFault } from '../domain/fault.js';
import type { Instant } from '../domain/instant.js';
import { mirrorName } from '../reading/exports-folder.js';
import { eraseInLake } from '../reading/lake.js';
import { removeNamedExports } from '../reading/remove-exports.js';
import type { Clock } from '../runtime/clock.js';
import { silentLogger } from '../runtime/logger.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import type { Awaitable } from '../store/erasures.js';

/** What an erasure did to files outside the database. */
interface PublishedErased {
  /** Scheduled exports with names, deleted: the next one is made without what was erased. */
  readonly exports_removed: readonly string[];
  /** Folders named like exports whose manifest cannot be read: not deleted, though they may contain names. */
  readonly exports_damaged: readonly string[];
  /** The configured lake: `none` without names in it, `pending` when it could not be read or written now. */
  readonly lake: 'none' | 'rewritten' | 'pending';
}

/** What happened to bytes, backups and files after an erasure. */
export interface ErasedReceipt extends PublishedErased {
  /** `scrubbed`: no byte is left in the files of the database. Otherwise a running daemon finishes the scrub. */
  readonly bytes: 'scrubbed' | 'blocked' | 'no_room';
  readonly pending: number;
  readonly pending_since: Instant | null;
  /** Backups made before a schema migration, deleted because they contain every identity. */
  readonly backups_removed: readonly string[];
  /** Whether other hosts may use this mirror: their exports and lakes were not seen. */
  readonly other_hosts: boolean;
}

/**
 * Deletes old backups, removes what was erased from exports and the lake, and scrubs the bytes. May be repeated: a fault says
 * that the erasure itself is committed.
 */
export async function afterErasing(
  config: Config,
  mirror: OpenMirror,
  clock: Clock,
  signal: AbortSignal,
): Promise<ErasedReceipt> {
  try {
    return await cleaned(config, mirror, clock, signal);
  } catch (error) {
    if (!isFault(error)) throw error;
    const { hint } = error.about;
    // Files of another user do not go by themselves, as the trouble of a server does.
    const run = error.code === 'usage' && hint !== undefined ? `${hint.replace(/\.$/, '')}, then run` : 'Run';
    throw new Fault(error.code, `the erasure is committed, but bytes of it may remain: ${error.message}`, {
      hint: `${run} the same command again: it does the rest. A running daemon scrubs the database, too.`,
      cause: error,
    });
  }
}

/**
 * Files come first: a scrub may have to wait, or fail with the database, and names in files are read by others. Files that
 * cannot be deleted do not keep the bytes in the database.
 */
async function cleaned(
  config: Config,
  { erasures, upkeep }: OpenMirror,
  clock: Clock,
  signal: AbortSignal,
): Promise<ErasedReceipt> {
  const [files] = await Promise.allSettled([eraseInFiles(config, upkeep, clock, signal)]);
  const scrubbed = await upkeep.scrub(0, signal);
  if (files.status === 'rejected') throw files.reason;
  const { receipts, since } = await erasures.pending();
  return {
    ...files.value,
    // The process that blocked the scrub may have been scrubbing itself, this erasure included.
    bytes: scrubbed.kind === 'clean' || receipts === 0 ? 'scrubbed' : scrubbed.kind,
    pending: receipts,
    pending_since: since,
    other_hosts: dialectFor(config.database).file === null,
  };
}

/**
 * Removes from the files of this host what was erased in the mirror: deletes old backups and the scheduled exports with
 * names, rewrites the files of people of the configured lake, and deletes the previous ones. Throws the first failure, after
 * the other files. Throws `usage` for backups and exports that this user may not delete.
 */
async function eraseInFiles(
  { database, exports, lake: { folder, keep } }: Pick<Config, 'database' | 'exports' | 'lake'>,
  upkeep: OpenMirror['upkeep'],
  clock: Clock,
  signal: AbortSignal,
): Promise<PublishedErased & Pick<ErasedReceipt, 'backups_removed'>> {
  const [exported, backups] = await Promise.allSettled([
    undeleted(`exports with names in ${exports.folder}`, () =>
      removeNamedExports(exports.folder, mirrorName(database)),
    ),
    undeleted('backups made before a schema migration', () => upkeep.removeBackups(Number.POSITIVE_INFINITY)),
  ]);
  // Last, because it takes longest. A lake that cannot be written now is rewritten by the next run of `lake sync`, which also
  // reports why this one failed.
  const lake = await eraseInLake(database, { folder, keep }, clock, signal).catch(() => 'pending' as const);
  if (exported.status === 'rejected') throw exported.reason;
  if (backups.status === 'rejected') throw backups.reason;
  const { removed, damaged } = exported.value;
  return { backups_removed: backups.value, exports_removed: removed, exports_damaged: damaged, lake };
}

/** Throws `usage` where the system does not let this user delete files. */
async function undeleted<Result>(what: string, work: () => Awaitable<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const code = isFault(error) ? undefined : (error as NodeJS.ErrnoException).code;
    if (code === undefined) throw error;
    throw new Fault('usage', `${what} cannot be deleted (${code})`, {
      hint: 'Delete them as the user who owns them',
      cause: error,
    });
  }
}

/** Opens the mirror for an erasure. Throws `database_unusable` when there is none: a command that erases creates none. */
export async function withMirror<Result>(
  config: Config,
  clock: Clock,
  signal: AbortSignal,
  work: (mirror: OpenMirror, ledger: ForgottenLedger) => Promise<Result>,
): Promise<Result> {
  const ledger = new ForgottenLedger(config.forget.ledger);
  const parts = { clock, ledger, logger: silentLogger, existing: true, ...identityRules(config) };
  const mirror = await retriedWhileBusy(clock, signal, () => openMirror(config.database, parts));
  try {
    return await work(mirror, ledger);
  } finally {
    await mirror.close();
  }
}

/** Another process finishes a page, a publication or a scrub within this time, except in the largest mirrors. */
const busyTimeoutMillis = 30_000;
const retryMillis = 200;

/** Retries while another process writes, so that a request need not be repeated. */
export async function retriedWhileBusy<Result>(
  clock: Clock,
  signal: AbortSignal,
  attempt: () => Awaitable<Result>,
): Promise<Result> {
  const until = clock.monotonic() + busyTimeoutMillis;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isFault(error, 'database_busy') || signal.aborted || clock.monotonic() >= until) throw error;
    }
    await clock.wait(retryMillis, signal);
  }
}
