import type { EventId, SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';

/** A verified delivery, as far as anybody needs to know: where to look, and how far. Its data is never trusted as data. */
export interface EventSeen {
  readonly eventId: EventId;
  /** `inst_…`, or empty: deliveries of older platforms do not name one. */
  readonly installation: string;
  readonly event: string;
  readonly company: string | null;
  readonly investment: string | null;
  /** When the platform observed what it announces; the feed has to reach this moment. Null when it does not say. */
  readonly observedAt: Instant | null;
  readonly test: boolean;
}

export interface AcceptedEvent extends EventSeen {
  readonly receivedAt: Instant;
  /** What was announced, without what speaks of people: see `thinBody`. Kept until the event is settled. */
  readonly body: string;
  /** Who works it; null for nobody: stored as `ignored` at once, without its body. */
  readonly lane: Lane | null;
}

/**
 * The sources an event belongs to, as the column `source` holds them: one name, or several joined by commas when
 * sources with different filters share a company.
 */
export type Lane = string;

export const laneOf = (sources: readonly SourceName[]): Lane | null =>
  sources.length === 0 ? null : [...new Set(sources)].sort().join(',');

export const sourcesOf = (lane: Lane): readonly SourceName[] => lane.split(',') as SourceName[];

export interface PendingEvent {
  /** Rises in order of arrival. */
  readonly no: number;
  readonly observedAt: Instant | null;
  readonly receivedAt: Instant;
  readonly attempts: number;
  /** When it is to be looked for again, by the clock of whoever looked in vain. */
  readonly nextAt: Instant | null;
}

export interface WaitingLane {
  readonly lane: Lane;
  readonly events: number;
  /** The earliest moment one of them is due. */
  readonly dueAt: Instant;
}

export type Settlement = 'worked' | 'ignored' | 'given_up';

/**
 * Accepted deliveries, durable. Each method is one transaction, and all throw `database_busy`, `database_full`,
 * `database_unusable`.
 */
export interface Inbox {
  /**
   * On disk when it resolves: the sender is told 2xx and will not send again. `duplicate` when (event id,
   * installation) is known, which changes nothing. Gives up on a lock within a second or two.
   */
  accept(event: AcceptedEvent): Promise<'stored' | 'duplicate'>;
  /** Lanes that still have pending events. */
  waiting(): Promise<readonly WaitingLane[]>;
  /** Pending events of a lane, due or not, numbered above `after`, in order of arrival. */
  pending(lane: Lane, after: number, limit: number): Promise<readonly PendingEvent[]>;
  /** Ends them and trims their bodies. */
  settle(nos: readonly number[], end: Settlement, at: Instant): Promise<void>;
  /** One attempt more; not due before then. */
  retry(nos: readonly number[], nextAt: Instant): Promise<void>;
  /** How far a source was read, as the commits of its ticks tell, whoever's they were. Null before one was done. */
  proofOf(source: SourceName): Promise<Proof | null>;
}

/** What the drain needs of the sync engine. */
export interface Ticks {
  nudge(source: SourceName): void;
  /** Told after every tick. Returns how to stop listening. */
  onTick(listener: (source: SourceName, tick: Ticked) => void): () => void;
}

/** How far a source was read, and everything of it committed. */
export interface Proof {
  /** When the tick began that read the feed to its end. */
  readonly startedAt: Instant;
  /** How far the feed reached; null when the platform does not say. */
  readonly publishedThrough: Instant | null;
}

export interface Ticked extends Proof {
  /** The feed was read to its end and everything committed. */
  readonly done: boolean;
}

/** Other daemons that share the inbox, and work the sources this one does not. */
export interface Others {
  /** Whether a source is worked by this daemon now. */
  worksHere(source: SourceName): boolean;
  /** No other daemon lives now; false as long as that is not known. */
  alone(): boolean;
  /** Deliveries were stored here for a lane that concerns somebody else too. */
  tellAccepted(lane: Lane): void;
  /** A source was read to its end of which somebody else may settle deliveries. */
  tellTicked(source: SourceName): void;
}
