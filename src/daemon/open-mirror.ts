import type { BudgetStore } from '../client/ports.js';
import type { Config } from '../config/config.js';
import type { Instant } from '../domain/instant.js';
import type { OpenFleet } from '../fleet/ports.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { NoticeHooks } from '../store/committed-change.js';
import type { Erasures, Scrubbed } from '../store/erasures.js';
import type { Inbox } from '../store/inbox.js';
import type { Outbox } from '../store/outbox.js';
import { openReader } from '../store/reads/open-reader.js';
import type { Scrubber } from '../store/scrub-messages.js';
import type { Mirror } from '../sync/ports.js';
import { agreeOnForgotten, type ForgottenLedger } from './forgotten-ledger.js';

/** A holder that stopped renewing for this long has lost its source. Renewals come three times as often. */
export const leaseMillis = 30_000;

/** A mirror open to be written, whatever database it is kept in. */
export interface OpenMirror {
  readonly mirror: Mirror;
  readonly budgets: BudgetStore;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly erasures: Erasures;
  readonly upkeep: Upkeep;
  /** Where several daemons may share the database; null where it is one's alone. */
  readonly fleet: OpenFleet | null;
  /** The server that may be away and come back; null where the database is a file. */
  readonly server: DatabaseServer | null;
  close(): Promise<void>;
}

export interface DatabaseServer {
  /** Whether the error says that it could not be reached. */
  isAway(error: unknown): boolean;
  /** Asks one short question over a connection of its own. Rejects while it is away. */
  ask(): Promise<void>;
}

/** What has to be done to a database now and then, by whoever keeps the house. */
export interface Upkeep {
  /** Rewrites what may still hold bytes of the erased. `rewritten`: what the scrub before got done. */
  scrub(rewritten: number, signal: AbortSignal): Promise<Scrubbed>;
  /** The same for a process that serves nobody meanwhile and may stand still for a moment. */
  scrubAlone(rewritten: number, signal: AbortSignal): Promise<Scrubbed>;
  /** Removes copies made by ourselves before then; answers their names. */
  removeBackups(before: number): readonly string[];
  /** Versions superseded before then; answers how many. */
  purgeHistory(before: Instant): Promise<number>;
  purgeTicks(before: Instant): Promise<number>;
}

export interface OpenMirrorParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly notices?: NoticeHooks;
  readonly identity: 'keep' | 'drop';
  readonly ledger: ForgottenLedger;
  /** Rewrites a file without the erased; in a process of its own unless given. */
  readonly scrub?: Scrubber;
  /** For what should not create the mirror it looks into: throws `database_unusable` when there is none. */
  readonly existing?: boolean;
}

/** Opens and migrates. Throws `database_unusable`, `database_busy`, `database_full`; then nothing is left open. */
export async function openMirror(database: Config['database'], parts: OpenMirrorParts): Promise<OpenMirror> {
  if (parts.existing === true) await (await openReader(database)).close();
  return await asTold(await openOf(database, parts), parts);
}

/** Erases whom the ledger or the configuration says must not be known here, before anything else is done. */
export async function asTold(mirror: OpenMirror, parts: OpenMirrorParts): Promise<OpenMirror> {
  try {
    await eraseAsTold(mirror, parts);
    return mirror;
  } catch (error) {
    await mirror.close();
    throw error;
  }
}

/** Only the driver that is needed is loaded: PostgreSQL's takes a tenth of the time until `run` follows. */
async function openOf(database: Config['database'], parts: OpenMirrorParts): Promise<OpenMirror> {
  if (database.kind === 'sqlite') {
    const { openSqliteMirror } = await import('./open-sqlite-mirror.js');
    return openSqliteMirror(database, parts);
  }
  const { openPostgresMirror } = await import('./open-postgres-mirror.js');
  return await openPostgresMirror(database, parts);
}

async function eraseAsTold(
  { erasures, upkeep }: OpenMirror,
  { ledger, logger, identity }: OpenMirrorParts,
): Promise<void> {
  const recalled = await agreeOnForgotten(ledger, erasures);
  if (recalled > 0) {
    upkeep.removeBackups(Number.POSITIVE_INFINITY);
    logger.warn(
      { component: 'erasure', count: recalled },
      'this database knew people who are forgotten, as an old copy does: they are erased again',
    );
  }
  if (identity === 'drop' && (await erasures.dropAll()) > 0)
    logger.info({ component: 'erasure' }, 'identity kept by an earlier configuration is erased');
}
