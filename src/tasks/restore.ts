import type { Config } from '../config/config.js';
import { ForgottenLedger, type LedgerEntry } from '../daemon/forgotten-ledger.js';
import { leaseMillis, type OpenMirror } from '../daemon/mirror-parts.js';
import { identityRules, openMirror } from '../daemon/open-mirror.js';
import { Fault } from '../domain/fault.js';
import { askDaemons } from '../reading/daemon-address.js';
import type { Clock } from '../runtime/clock.js';
import { silentLogger } from '../runtime/logger.js';
import { packageVersion } from '../runtime/package-version.js';
import type { Restored } from '../store/backup/made.js';
import { locationText } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { type ErasedSource, isFollowed } from '../store/erased-sources.js';
import type { ForgottenSince } from '../store/erasures.js';

export type { Restored } from '../store/backup/made.js';

export interface RestoreRequest {
  readonly config: Config;
  readonly backup: string;
  /** Replaces an existing mirror. */
  readonly force: boolean;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export interface RestoreReceipt extends Restored {
  readonly database: string;
  /** Number of people and investments in the ledger: people forgotten since the backup stay forgotten. */
  readonly forgotten: number;
  /** Sources that the replaced mirror had erased since the backup, and that were erased again. */
  readonly sources_erased: readonly string[];
}

/**
 * Replaces the configured mirror by a backup. Refuses while a daemon or any other process uses the mirror. Everyone in
 * the ledger of forgotten ids, and everyone the replaced mirror had forgotten, is erased before it can be read. So is every
 * source that the replaced mirror had erased.
 */
export async function restore(request: RestoreRequest): Promise<RestoreReceipt> {
  const { config, backup, force, clock, env, signal } = request;
  const { database } = config;
  const identities = identityRules(config);
  await refuseRunning(config, clock);
  const ledger = new ForgottenLedger(config.forget.ledger);
  let sources: readonly ErasedSource[] = [];
  let sourcesErased: readonly string[] = [];
  const restored = await dialectFor(database).restore(
    backup,
    { clock, env, force, signal, ...identities, leaseMs: leaseMillis, version: packageVersion() },
    {
      remember: (forgotten, erased) => {
        sources = erased;
        const known = ledger.read();
        const missing = forgotten.filter((one) => !isRecorded(known.get(one.id), one));
        ledger.add(missing.map((one) => ({ ...one, event: 'forgotten' })));
        return forgottenIn(ledger);
      },
      prepare: async (file) => {
        const parts = { clock, ...identities, ledger, logger: silentLogger, existing: true };
        const mirror = await openMirror(file === null ? database : { kind: 'sqlite', file }, parts);
        try {
          // Performed since the backup, or no longer wanted: a person may restore to undo what one of them deleted.
          await mirror.requests.removeAll();
          sourcesErased = await eraseAgain(mirror, sources);
          await mirror.upkeep.scrubAlone(0, signal);
        } finally {
          await mirror.close();
        }
      },
    },
  );
  return {
    ...restored,
    database: locationText(database),
    forgotten: forgottenIn(ledger).length,
    sources_erased: sourcesErased,
  };
}

/**
 * Erases sources and gives them the entries that the replaced mirror had of them, so that following does not bring them
 * back. Returns those of which the backup had rows.
 */
async function eraseAgain(
  { followed, eraser }: OpenMirror,
  sources: readonly ErasedSource[],
): Promise<readonly string[]> {
  const stored = new Map((await followed.list()).map((entry) => [entry.source, entry]));
  await followed.save(
    sources.flatMap(({ name, entry }) =>
      entry === null ? [] : [{ before: stored.get(name) ?? null, next: entry }],
    ),
  );
  const erased: string[] = [];
  for (const { name } of sources.filter(({ name, entry }) => entry !== null || !isFollowed(stored.get(name))))
    if ((await eraser.erase(name)).rows > 0) erased.push(name);
  return erased;
}

/** A lift that is older than the request in the mirror does not concern it: another host recorded the request. */
const isRecorded = (entry: LedgerEntry | undefined, { at }: ForgottenSince): boolean =>
  entry !== undefined && (entry.event === 'forgotten' || entry.at >= at);

const forgottenIn = (ledger: ForgottenLedger): readonly ForgottenSince[] =>
  [...ledger.read().values()].filter(({ event }) => event === 'forgotten');

/** A daemon between two ticks has no lease, and one that was killed leaves one. Its own word decides first. */
async function refuseRunning(config: Config, clock: Clock): Promise<void> {
  const [daemon] = (await askDaemons(config.database, config, clock)).daemons;
  if (daemon === undefined) return;
  throw new Fault('lease_lost', `the daemon (process ${daemon.pid}) uses ${locationText(config.database)}`, {
    hint: 'Stop it first (systemctl stop rosterd), then run this again.',
  });
}
