import type { InstallationId, SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { Lane } from '../inbox/ports.js';

/** A daemon of the fleet, as stored in the database. */
export interface MemberSeen {
  /** The lease holder name: unique per process. */
  readonly member: string;
  readonly joinedAt: Instant;
  /** Whether its last heartbeat is recent, judged by the database's clock. */
  readonly alive: boolean;
  /** Number of sources it holds. */
  readonly holds: number;
  /** The sources that it ticks because of webhooks out of a quota that runs short. */
  readonly spaced: readonly SourceName[];
}

export interface Beat {
  readonly members: readonly MemberSeen[];
  /** Whether this member's heartbeat had expired, so that others may have taken its sources. */
  readonly late: boolean;
}

/** Which members can work each source, and which one does. */
export interface Holdings {
  /** Living members and their configured sources. */
  readonly members: readonly { readonly member: string; readonly sources: readonly SourceName[] }[];
  /** Sources held by living members; any other source is free. */
  readonly held: ReadonlyMap<SourceName, string>;
}

/**
 * Messages between members. Each reaches every other member at most once and may be lost. Anyone who can connect to
 * the database may have sent one. So a message is only a reason to look, and its content is never trusted.
 */
export type Message =
  /** Deliveries were stored for these lanes. */
  | { readonly kind: 'accepted'; readonly lanes: readonly Lane[] }
  /** The grants of these sources may have changed. */
  | { readonly kind: 'recheck'; readonly sources: readonly SourceName[] }
  /** An event concerns the companies or rounds of these sources. */
  | { readonly kind: 'touched'; readonly sources: readonly SourceName[]; readonly event: string }
  /** A source that shares deliveries with other members was read to its end; its commits say how far. */
  | { readonly kind: 'ticked'; readonly source: SourceName }
  /** Events named installations that may have been created or revoked. */
  | { readonly kind: 'installed'; readonly installations: readonly InstallationId[] }
  /** A commit queued notices or erased a person's data. */
  | { readonly kind: 'committed' }
  /** The leader has a scheduled backup that is no older than their interval. */
  | { readonly kind: 'backed_up' }
  /** A member joined, left or released a source. */
  | { readonly kind: 'members' };

/**
 * The database as a fleet uses it. Each method is one statement, however many sources there are. All throw
 * `database_busy` and `database_unusable`; a message that could not be sent is lost.
 */
export interface FleetStore {
  /**
   * Registers this member and the sources it can work, or replaces them. Throws `database_unusable` when a later version
   * of rosterd has migrated the database.
   */
  join(sources: readonly SourceName[]): Promise<void>;
  /**
   * Sends a heartbeat, which renews everything this member holds and reports the sources that it ticks because of webhooks
   * out of a quota that runs short. Returns all members, or null when this member is no longer registered.
   */
  beat(spaced: readonly SourceName[]): Promise<Beat | null>;
  holdings(): Promise<Holdings>;
  /** Claims the sources that no living member holds. Returns the claimed ones. */
  take(sources: readonly SourceName[]): Promise<readonly SourceName[]>;
  release(sources: readonly SourceName[]): Promise<void>;
  /** Marks members as dead that have died although their heartbeat has not expired. */
  markDead(members: readonly string[]): Promise<void>;
  /** Releases everything and removes the registration. */
  leave(): Promise<void>;
  tell(message: Message): Promise<void>;
  close(): Promise<void>;
}

/**
 * Callbacks: `onMessage` receives messages of other members, `onGap` reports that some may be lost, `onLost` that
 * none are received now.
 */
export interface FleetEars {
  readonly onMessage: (message: Message) => void;
  readonly onGap: () => void;
  readonly onLost?: () => void;
}

/** Opens the store of a member. Provided by databases that several daemons can share. */
export type OpenFleet = (member: string, ears: FleetEars) => FleetStore;
