import type { Config } from '../config/config.js';
import { ForgottenLedger } from '../daemon/forgotten-ledger.js';
import type { OpenMirror } from '../daemon/mirror-parts.js';
import { openMirror } from '../daemon/open-mirror.js';
import { Fault, isFault } from '../domain/fault.js';
import { parseId } from '../domain/ids.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import { eraseInLake } from '../reading/lake.js';
import { mirrorName, removeNamedExports } from '../reading/publish-exports.js';
import type { Clock } from '../runtime/clock.js';
import { silentLogger } from '../runtime/logger.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import type { Awaitable, PersonOrInvestment } from '../store/erasures.js';

export interface ForgetReceipt {
  readonly id: string;
  /** Investments whose stored identity was erased. */
  readonly identities: number;
  /** Whether the id was forgotten before. */
  readonly already: boolean;
  readonly invisible_at: Instant;
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

/** Parses an id. Throws `usage` for anything else without quoting it, because it may be a person's name. */
export function personOrInvestment(text: string): PersonOrInvestment {
  const id = parseId('investment', text) ?? parseId('user', text);
  if (id !== undefined) return id;
  throw new Fault('usage', 'the argument is neither the id of an investment nor of an investor', {
    hint: 'give an id: inv_… for one investment, usr_… for everything of an investor',
  });
}

/**
 * Forgets a person or an investment, with or without a running daemon. First the request is written to the ledger
 * outside the database, so that no crash and no restored backup undoes it. Then one transaction erases the identity
 * and blocks the platform from bringing it back. Last the bytes are scrubbed, unless a reader blocks it.
 */
export async function forget(
  config: Config,
  id: PersonOrInvestment,
  clock: Clock,
  signal: AbortSignal,
): Promise<ForgetReceipt> {
  return withMirror(config, clock, signal, async ({ erasures, upkeep }, ledger) => {
    const { identities, already, invisibleAt } = await retriedWhileBusy(clock, signal, () =>
      erasures.forget(id, (since) => ledger.add([{ ...since, event: 'forgotten' }])),
    );
    const backups = upkeep.removeBackups(Number.POSITIVE_INFINITY);
    const scrubbed = await upkeep.scrub(0, signal);
    const { receipts, since } = await erasures.pending();
    const exports = await removeNamedExports(config.exports.folder, mirrorName(config.database));
    return {
      id,
      identities,
      already,
      invisible_at: invisibleAt,
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
  });
}

/** Rewrites the files of people of the configured lake, and deletes the previous ones. */
async function rewriteLake(
  { database, lake: { folder, keep } }: Config,
  clock: Clock,
  signal: AbortSignal,
): Promise<ForgetReceipt['lake']> {
  try {
    return await eraseInLake(database, { folder, keep }, clock, signal);
  } catch {
    // The person is erased from the mirror already, so the next run of `lake sync` erases it here, too. It also reports
    // why this one failed.
    return 'pending';
  }
}

/** Allows the identity of an id to be stored again. Returns false when it was not forgotten. */
export function liftForgotten(
  config: Config,
  id: PersonOrInvestment,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  return withMirror(config, clock, signal, async ({ erasures }, ledger) => {
    const lifted = await retriedWhileBusy(clock, signal, () => erasures.lift(id));
    if (lifted) ledger.add([{ id, event: 'lifted', at: instantFromMillis(clock.now()) }]);
    return lifted;
  });
}

async function withMirror<Result>(
  { database, identity, forget: { ledger: ledgerFile } }: Config,
  clock: Clock,
  signal: AbortSignal,
  work: (mirror: OpenMirror, ledger: ForgottenLedger) => Promise<Result>,
): Promise<Result> {
  const ledger = new ForgottenLedger(ledgerFile);
  // A command that erases never creates a mirror.
  const parts = { clock, identity, ledger, logger: silentLogger, existing: true };
  const mirror = await retriedWhileBusy(clock, signal, () => openMirror(database, parts));
  try {
    return await work(mirror, ledger);
  } finally {
    await mirror.close();
  }
}

/** Another process finishes a page, a publication or a scrub within this time, except in the largest mirrors. */
const busyTimeoutMillis = 30_000;
const retryMillis = 200;

/** Retries while another process writes, so that a forget request need not be repeated. */
async function retriedWhileBusy<Result>(
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
