import type { Brand } from '../domain/brand.js';
import { type EventId, parseSourceName, type SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';

/**
 * The parts of a verified delivery that are used: which source to read, and how far. Its content is never stored as
 * data.
 */
export interface EventSeen {
  readonly eventId: EventId;
  /** `inst_…`, or empty: older platforms do not name an installation. */
  readonly installation: string;
  readonly event: string;
  readonly company: string | null;
  readonly investment: string | null;
  /** When the platform observed the change; the feed has to reach this time. Null when the delivery does not say. */
  readonly observedAt: Instant | null;
  readonly test: boolean;
}

export interface AcceptedEvent extends EventSeen {
  readonly receivedAt: Instant;
  /** The body without personal data: see `redactBody`. Kept until the event is settled. */
  readonly body: string;
  /** The lane that works the event. Null for none: the event is stored as `ignored` at once, without its body. */
  readonly lane: Lane | null;
}

/**
 * The set of sources that an event belongs to; several when sources with different filters share a company. Events of
 * one lane are settled together. Equal sets are equal values, because the names are sorted and joined by commas, as in
 * the column `source`.
 */
export type Lane = Brand<string, 'Lane'>;

/** The lane of an event that may concern any source, such as one that names no company, when there are many sources. */
export const everyLane = '*' as Lane;

/** A page of PostgreSQL's index of lanes takes no longer text, and neither does a message to the fleet. */
const laneCharactersMax = 2_000;

/** Returns the lane of these sources, or null for none. For more names than fit, it is the lane of all sources. */
export function laneOf(sources: readonly SourceName[]): Lane | null {
  if (sources.length === 0) return null;
  const lane = [...new Set(sources)].sort().join(',') as Lane;
  return lane.length > laneCharactersMax ? everyLane : lane;
}

/** Returns the lane of events that belong to this source alone. */
export function ownLane(source: SourceName): Lane {
  return source as string as Lane;
}

/** Returns the names of a lane. That of all sources has none but its own. */
export function sourcesOf(lane: Lane): readonly SourceName[] {
  return lane.split(',') as SourceName[];
}

/** Returns a lane that another process sent, or undefined when it does not consist of source names. */
export function parseLane(value: unknown): Lane | undefined {
  if (typeof value !== 'string') return undefined;
  if (value === everyLane) return everyLane;
  return value.split(',').every((name) => parseSourceName(name) !== undefined) ? (value as Lane) : undefined;
}

export interface PendingEvent {
  /** Rises in order of arrival. */
  readonly no: number;
  readonly observedAt: Instant | null;
  readonly receivedAt: Instant;
  readonly attempts: number;
  /** Time of the next attempt, on the clock of the daemon that made the last one. */
  readonly nextAt: Instant | null;
}

export interface WaitingLane {
  readonly lane: Lane;
  readonly events: number;
  /** When the first of them is due. */
  readonly dueAt: Instant;
}

export type Settlement = 'worked' | 'ignored' | 'given_up';

/**
 * Durable storage of accepted deliveries. Each method is one transaction. All throw `database_busy`, `database_full`
 * and `database_unusable`.
 */
export interface Inbox {
  /**
   * Stores the event durably before it resolves: the sender gets a 2xx and will not send again. Returns `duplicate`
   * when the pair of event id and installation is known, which changes nothing. Gives up on a lock within a second or
   * two.
   */
  accept(event: AcceptedEvent): Promise<'stored' | 'duplicate'>;
  /** Returns the lanes with pending events. */
  waiting(): Promise<readonly WaitingLane[]>;
  /** Returns pending events of a lane, due or not, numbered above `after`, in order of arrival. */
  pending(lane: Lane, after: number, limit: number): Promise<readonly PendingEvent[]>;
  /** Marks events as settled and trims their bodies. */
  settle(nos: readonly number[], end: Settlement, at: Instant): Promise<void>;
  /** Counts one more attempt; the events are not due before `nextAt`. */
  retry(nos: readonly number[], nextAt: Instant): Promise<void>;
  /**
   * Returns how far a source was read, as committed by the ticks of any daemon. Null before the first complete tick.
   */
  proofOf(source: SourceName): Promise<Proof | null>;
}

/** The part of the sync engine that the drain uses. */
export interface Ticks {
  nudge(source: SourceName): void;
  /** Calls `listener` after every tick. Returns a function that removes it. */
  onTick(listener: (source: SourceName, tick: Ticked) => void): () => void;
}

/** How far a source was read and committed. */
export interface Proof {
  /** When the tick began that read the feed to its end. */
  readonly startedAt: Instant;
  /** How far the feed reached; null when the platform does not say. */
  readonly publishedThrough: Instant | null;
}

export interface Ticked extends Proof {
  /** Whether the feed was read to its end and everything is committed. */
  readonly done: boolean;
}

/** Other daemons that share the inbox and work other sources. */
export interface Others {
  /** Whether this daemon works the source now. */
  worksHere(source: SourceName): boolean;
  /** Whether no other daemon is alive; false while that is unknown. */
  alone(): boolean;
  /** Notifies other daemons that deliveries of a lane they share were stored here. */
  announceAccepted(lane: Lane): void;
  /** Notifies other daemons that a source of a shared lane was read to its end here. */
  announceTicked(source: SourceName): void;
}
