import type { BudgetStore } from '../client/ports.js';
import type { DimensionStore } from '../dimensions/ports.js';
import type { Instant } from '../domain/instant.js';
import type { OpenFleet } from '../fleet/ports.js';
import type { FollowedSources, SourceEraser } from '../installations/ports.js';
import type { Clock } from '../runtime/clock.js';
import type { Wait } from '../runtime/health-register.js';
import type { Logger } from '../runtime/logger.js';
import { processName } from '../runtime/process-identity.js';
import type { AfterSyncHooks } from '../store/after-sync.js';
import type { Alerts } from '../store/alerts.js';
import type { AuditLog } from '../store/audit-log.js';
import type { NoticeHooks } from '../store/committed-change.js';
import type { Erasures, Scrubbed } from '../store/erasures.js';
import type { Inbox } from '../store/inbox.js';
import type { OperatorRequests } from '../store/operator-requests.js';
import type { Outbox } from '../store/outbox.js';
import type { Pauses } from '../store/pauses.js';
import type { Rereading } from '../store/reread.js';
import type { Scrubber } from '../store/scrub-messages.js';
import type { Mirror } from '../sync/ports.js';
import type { ForgottenLedger } from './forgotten-ledger.js';

/** A lease lasts 30 seconds and is renewed every 10 seconds while a tick runs. */
export const leaseMillis = 30_000;

/** Returns the name under which this process holds a source that it erases: no tick of its own may run meanwhile. */
export const eraserName = (): string => `${processName()}:eraser`;

/** A mirror opened for writing, in either database. */
export interface OpenMirror {
  readonly mirror: Mirror & Rereading;
  /** Companies, rounds, their numbers and posts. */
  readonly dimensions: DimensionStore;
  readonly budgets: BudgetStore;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly pauses: Pauses;
  readonly alerts: Alerts;
  readonly afterSync: AfterSyncHooks;
  readonly audit: AuditLog;
  readonly requests: OperatorRequests;
  /** The registry of followed sources. */
  readonly followed: FollowedSources;
  /** Deletes a source with everything stored of it. */
  readonly eraser: SourceEraser;
  readonly erasures: Erasures;
  readonly upkeep: Upkeep;
  /** Joins the fleet of daemons that share the database; null where one daemon owns it. */
  readonly fleet: OpenFleet | null;
  /** The server, which may be away for a while; null where the database is a file. */
  readonly server: DatabaseServer | null;
  /** Writes as for a delivery and leaves nothing; rejects while that fails. */
  tryWrite(): Promise<void>;
  /** Returns the work on the database that writers of this process wait for. */
  waits(): readonly Wait[];
  /**
   * Sets what to call when another program has released the lock of the database file and calls have failed because of that lock.
   * Never called for a server, which `server.ask` probes.
   */
  onFreed(listener: () => void): void;
  /** A stop has begun: calls wait for the lock of another program for a moment only. */
  hurry(): void;
  close(): Promise<void>;
}

export interface DatabaseServer {
  /** Returns whether the error means that the server could not be reached. */
  isAway(error: unknown): boolean;
  /** Runs one short query on a dedicated connection. Rejects while the server is away. */
  ask(): Promise<void>;
}

/** The background jobs of a database. */
export interface Upkeep {
  /** Rewrites what may still contain erased bytes. `rewritten`: the progress of the previous, blocked scrub. */
  scrub(rewritten: number, signal: AbortSignal): Promise<Scrubbed>;
  /** The same for one-shot commands, which may block their event loop. */
  scrubAlone(rewritten: number, signal: AbortSignal): Promise<Scrubbed>;
  /** Deletes rosterd's own backups made before `before`. Returns their names. */
  removeBackups(before: number): readonly string[];
  /** Deletes those of them that contain people who were erased since. */
  removeErasedBackups(): void;
  /** Deletes versions superseded before `before`. Returns how many. */
  purgeHistory(before: Instant): Promise<number>;
  purgeTicks(before: Instant): Promise<number>;
  /** Deletes request budgets whose windows ended before `before`. Returns how many. */
  purgeBudgets(before: Instant): Promise<number>;
}

export interface OpenMirrorParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly notices?: NoticeHooks;
  readonly identity: 'keep' | 'drop';
  /** The follow rules that store no identity. */
  readonly namelessRules?: readonly string[];
  readonly ledger: ForgottenLedger;
  /** Rewrites a file without erased bytes (default: in a child process). */
  readonly scrub?: Scrubber;
  /** Never creates a missing mirror: throws `database_unusable` instead. */
  readonly existing?: boolean;
}
