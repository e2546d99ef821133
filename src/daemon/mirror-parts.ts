import type { BudgetStore } from '../client/ports.js';
import type { Instant } from '../domain/instant.js';
import type { OpenFleet } from '../fleet/ports.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { NoticeHooks } from '../store/committed-change.js';
import type { Erasures, Scrubbed } from '../store/erasures.js';
import type { Inbox } from '../store/inbox.js';
import type { Outbox } from '../store/outbox.js';
import type { Scrubber } from '../store/scrub-messages.js';
import type { Mirror } from '../sync/ports.js';
import type { ForgottenLedger } from './forgotten-ledger.js';

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
