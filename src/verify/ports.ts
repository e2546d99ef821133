import type { Version } from '../domain/difference.js';
import type { Instant } from '../domain/instant.js';
import type { FeedItem } from '../domain/investment.js';
import type { CentsSum } from '../domain/money.js';
import type { Position } from '../domain/position.js';
import type { ReceivedPage } from '../sync/ports.js';

/** Counts and sums in cents of the visible rows of one offering and status. */
export interface Tally {
  readonly count: number;
  readonly committed_cents: CentsSum;
  readonly raised_cents: CentsSum;
}

export interface StatsRead {
  readonly byStatus: Readonly<Record<string, Tally>>;
  readonly publishedThrough: Instant | null;
}

export interface CurrentRead {
  readonly item: FeedItem;
  readonly publishedMatches: boolean | null;
  /** When the published version was published; null when the platform does not say. `item` is derived now. */
  readonly publishedObservedAt: Instant | null;
}

/**
 * The platform as this source's token sees it. Each method is one request, plus retries. Throws `Fault` as the feed
 * does, and `stopped` when the budget of calls is spent or the command was interrupted.
 */
export interface Platform {
  /** Returns null when this token may not see the counts: only people who edit the company may. */
  stats(offering: string): Promise<StatsRead | null>;
  /** Returns null when the record is unknown to the platform, hidden from this token or outside the source's filters. */
  current(id: string): Promise<CurrentRead | null>;
  /** Returns a page of a separate listing; no stored position changes. */
  page(position: Position): Promise<ReceivedPage>;
}

export type StoredTallies = Readonly<Record<string, Tally>>;

/** The committed rows of one source in the mirror. Each method is one read. */
export interface StoredRows {
  count(): Promise<number>;
  /** Of an offering, by status. Like the platform, counts only visible rows that do not await deletion. */
  tallies(offering: string): Promise<StoredTallies>;
  /** Returns the offerings named by a row now or in the past. */
  offerings(): Promise<readonly string[]>;
  /**
   * Returns the ids of rows that await deletion: the last listing did not name them, and an operator has to accept
   * that.
   */
  awaiting(): Promise<ReadonlySet<string>>;
  /** Returns the ids at these positions of an order that stays while the rows stay. */
  idsAt(places: readonly number[]): Promise<readonly string[]>;
  ids(): AsyncIterable<string>;
  /** Returns the number of records in quarantine without a later readable version. */
  quarantined(): Promise<number>;
  records(ids: readonly string[]): Promise<ReadonlyMap<string, Version>>;
  /** Returns the number of the newest change of any source. */
  mark(): Promise<number>;
  /** Returns whether this source has not changed since `mark`. */
  isUnchangedSince(mark: number): Promise<boolean>;
  changedSince(mark: number): Promise<ReadonlySet<string>>;
  /** Removes what the mirror would not store: the identity of forgotten people, or all identity. */
  keepable(items: readonly FeedItem[]): Promise<readonly FeedItem[]>;
}

/** Brings the mirror up to date and returns how far it is. Throws the `Fault` that prevented it. */
export type CatchUp = () => Promise<Instant | null>;
