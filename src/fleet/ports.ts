import type { SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';

/** A daemon of the fleet, as the database knows it. */
export interface MemberSeen {
  /** As leases name their holders: unique per process. */
  readonly member: string;
  readonly joinedAt: Instant;
  /** Whether it has told lately that it lives. Judged by one clock, the database's. */
  readonly alive: boolean;
  /** How many sources it holds. */
  readonly holds: number;
}

export interface Beat {
  readonly members: readonly MemberSeen[];
  /** This member was silent for so long that others may have taken what it held. */
  readonly late: boolean;
}

/** Who can work which source, and who does. */
export interface Holdings {
  /** Living members and the sources of their configurations. */
  readonly members: readonly { readonly member: string; readonly sources: readonly SourceName[] }[];
  /** Sources held by living members; any other is free. */
  readonly held: ReadonlyMap<SourceName, string>;
}

/**
 * What members tell one another at once. Heard by all of them, by none twice, and now and then not at all; anybody
 * who may connect to the database may have said it. So each is a reason to look, and none says what is found.
 */
export type Message =
  /** Deliveries were stored for these lanes; see `Lane` in the inbox. */
  | { readonly kind: 'accepted'; readonly lanes: readonly string[] }
  /** The grants of these sources may be others now. */
  | { readonly kind: 'recheck'; readonly sources: readonly SourceName[] }
  /** A source whose deliveries concern others as well was read to its end; how far, its commits tell. */
  | { readonly kind: 'ticked'; readonly source: SourceName }
  /** A commit queued notices, or erased somebody. */
  | { readonly kind: 'committed' }
  /** Somebody came, went, or gave a source back. */
  | { readonly kind: 'members' };

/**
 * The database as a fleet needs it. Each method is one statement, whatever the number of sources. All throw
 * `database_busy` and `database_unusable`; a message that could not be sent is lost.
 */
export interface FleetStore {
  /** Registers this member, or registers it again after it was forgotten. */
  join(sources: readonly SourceName[]): Promise<void>;
  /** Renews everything this member holds, and tells who is there. Null when it is not registered any more. */
  beat(): Promise<Beat | null>;
  holdings(): Promise<Holdings>;
  /** Takes those of them that no living member holds; answers which. */
  take(sources: readonly SourceName[]): Promise<readonly SourceName[]>;
  release(sources: readonly SourceName[]): Promise<void>;
  /** These are known to be dead, though they told lately that they live. */
  bury(members: readonly string[]): Promise<void>;
  /** Gives everything back and is gone. */
  leave(): Promise<void>;
  tell(message: Message): Promise<void>;
  close(): Promise<void>;
}

/** `onMessage` hears what other members tell; `onGap` that some of it may have been lost; `onLost` that nothing is heard now. */
export interface FleetEars {
  readonly onMessage: (message: Message) => void;
  readonly onGap: () => void;
  readonly onLost?: () => void;
}

/** Opens the store of a member; the database supplies it where several daemons may share it. */
export type OpenFleet = (member: string, ears: FleetEars) => FleetStore;
