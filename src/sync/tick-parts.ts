import type { Instant } from '../domain/instant.js';
import type { Position } from '../domain/position.js';
import type { BackoffPlan } from '../runtime/backoff.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import type { GrantAnswer } from './grant-check.js';
import type { Mirror, Phase, TickReport, Trigger } from './ports.js';
import type { QuietHours } from './quiet-hours.js';

/* What a tick is asked for, what it works with, and its result. */

export interface TickAsk {
  readonly trigger: Trigger;
  readonly resync?: boolean;
  readonly acceptDeletions?: boolean;
  /** Deletes the rows awaiting deletion if they are exactly this many, and approves no listing. */
  readonly acceptAwaiting?: number;
  /** Consecutive failed ticks of this source before this one. */
  readonly failures?: number;
  /** Whether to check the identity grant once the feed is read to its end. */
  readonly checkGrant?: boolean;
  /** The most likely position, fetched before the source is opened and dropped if another one turns out to be right. */
  readonly expected?: Position | null;
}

export interface TickParts {
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Lease holder name, unique per process. */
  readonly holder: string;
  readonly options: TickOptions;
  /** Called before each page is requested, with the number of pages before it. May end the tick. */
  readonly onPage?: (lists: boolean, pages: number) => void;
}

export interface TickOptions {
  readonly brake: { readonly share: number; readonly rows: number };
  readonly backoff: BackoffPlan;
  readonly leaseRenewMillis: number;
  readonly quiet?: QuietHours | null;
}

export interface TickResult {
  readonly report: TickReport;
  /** Committed state of the source; null when it could not be opened. */
  readonly phase: Phase | null;
  /** `published_through` of the last delta page, when this tick read to the end of the feed. */
  readonly publishedThrough: Instant | null;
  /** Result of the identity grant check. */
  readonly grant: GrantAnswer;
  /** True when this tick deleted the rows that awaited deletion, as `acceptAwaiting` asked. */
  readonly awaitingDeleted?: boolean;
  /** Whether the database records the end of the tick. When false, this result is the only record. */
  readonly recorded: boolean;
}
