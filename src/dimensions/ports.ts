import type { SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { Interruption } from '../runtime/interruption.js';

/** Collections without a change feed, in the order in which they are listed. */
export const collectionNames = ['companies', 'rounds', 'round_stats', 'company_updates'] as const;
export type CollectionName = (typeof collectionNames)[number];

/** What a change is about; `changes.kind` begins with it, as in `round_changed`. */
export type About = 'company' | 'round' | 'update';

export type Value = string | number | null;

/** One row of a collection: its values by column. */
export type Row = Readonly<Record<string, Value>>;

/** A collection as the store keeps it. */
export interface Collection {
  readonly name: CollectionName;
  readonly table: string;
  /** The columns that identify a row within its source. */
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /**
   * Set when its changes are announced and, with a table for them, its superseded versions kept. Null: each listing
   * replaces all rows without a trace.
   */
  readonly versions: { readonly about: About; readonly history: string | null } | null;
  /** Beginnings of the names of events that make a listing worthwhile. */
  readonly touchedBy: readonly string[];
}

/** The result of listing a collection once. */
export type Listing =
  | {
      readonly kind: 'complete';
      readonly collection: Collection;
      /** Every row: a stored row that is not among them is deleted. */
      readonly rows: readonly Row[];
      /** Why the platform does not serve the collection or part of it; null when it serves all. */
      readonly problem: string | null;
    }
  /** Nothing is deleted or changed. `problem` is null when it is only postponed, for example until the quota resets. */
  | { readonly kind: 'incomplete'; readonly collection: Collection; readonly problem: string | null };

/** A round as the investments of a source name it. */
export interface RoundSeen {
  readonly id: string;
  readonly companyId: string | null;
  /** Null when its investments have none, or several. */
  readonly currency: string | null;
}

/** The stored state when a listing begins. */
export interface Known {
  /** The number of this attempt: `apply` rejects a listing of an older one. */
  readonly attempt: number;
  readonly investedRounds: readonly RoundSeen[];
  readonly stored: ReadonlyMap<CollectionName, readonly Row[]>;
}

/** Labels of a round that its investments carry. */
export interface RoundLabels {
  readonly investmentType: string | null;
  readonly offeringType: string | null;
  readonly firstAppliedAt: string | null;
}

export interface Differences {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

export interface DimensionState {
  /** When each collection was last listed completely. One that never was is missing. */
  readonly listedAt: ReadonlyMap<CollectionName, Instant>;
  readonly names: Names;
}

/** The names of companies and rounds by id; null for one that is stored without a name. */
export interface Names {
  readonly companies: ReadonlyMap<string, string | null>;
  readonly rounds: ReadonlyMap<string, string | null>;
}

/** Storage of the collections. Each method is one transaction. All throw `database_busy`, `database_full`. */
export interface DimensionStore {
  state(source: SourceName): Promise<DimensionState>;
  /**
   * Returns when the newest of the last accepted events arrived whose name begins with one of these, of any source; null
   * when there is none.
   */
  touchedAt(beginnings: readonly string[]): Promise<Instant | null>;
  /** Returns the rounds that investments of the source name and that are not stored. Reads all of these. */
  unlistedRounds(source: SourceName): Promise<readonly string[]>;
  /**
   * Starts an attempt to list the collections in `wanted`, which ends the right of earlier ones to write, and returns
   * the stored rows of those in `needed`.
   */
  begin(source: SourceName, wanted: readonly CollectionName[], needed: readonly Collection[]): Promise<Known>;
  /** Returns the labels that the investments of a round carry. Reads all of them. */
  labelsOf(source: SourceName, round: string): Promise<RoundLabels>;
  /**
   * Compares each listing with the stored rows and commits the differences, with versions and changes. Throws
   * `lease_lost` when another attempt has begun.
   */
  apply(source: SourceName, attempt: number, listings: readonly Listing[]): Promise<Differences>;
}

export interface Lookup {
  /** A path template of `wire/paths.ts`; `params` fills it in. */
  readonly path: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Whether the platform counts this path per address too. */
  readonly catalog?: boolean;
  /** Whether the application's publishable key may read it as well. */
  readonly isPublic?: boolean;
  readonly etag?: string;
}

export type Found =
  | { readonly kind: 'found'; readonly body: unknown }
  /** The resource still has the `etag` of the lookup. */
  | { readonly kind: 'same' }
  /** `forbidden`: the credential may not read it at all. Otherwise this one is hidden, or does not exist. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly forbidden: boolean };

/** Reads the platform with the source's token. Throws `Fault` for every failure that may pass. */
export interface Catalog {
  look(lookup: Lookup, signal: Interruption): Promise<Found>;
}
