import type { Version } from '../domain/difference.js';
import type { Instant } from '../domain/instant.js';
import type { FeedItem } from '../domain/investment.js';
import type { Position } from '../domain/position.js';
import type { FeedPage } from '../sync/ports.js';

/** Counts and sums in cents of the rows founders see, of one offering and status. */
export interface Tally {
  readonly count: number;
  readonly committed_cents: number;
  readonly raised_cents: number;
}

export interface StatsRead {
  readonly byStatus: Readonly<Record<string, Tally>>;
  readonly publishedThrough: Instant | null;
}

export interface CurrentRead {
  readonly item: FeedItem;
  readonly publishedMatches: boolean | null;
}

/**
 * What the platform says to this source's token, each method one request and more only when it is tried again.
 * Throws `Fault` as the feed does; `stopped` when the budget of calls is spent or somebody ended the command.
 */
export interface Platform {
  /** Null when this token may not see them: counts belong to people who edit the company. */
  stats(offering: string): Promise<StatsRead | null>;
  /** Null when the platform does not know it, or hides it from this token. */
  current(id: string): Promise<CurrentRead | null>;
  /** A page of a listing, read beside the mirror: no stored position is touched. */
  page(position: Position): Promise<FeedPage>;
}

export type HeldTallies = Readonly<Record<string, Readonly<Record<string, Tally>>>>;

/** What the mirror holds of one source, as committed. Each method is one look. */
export interface HeldRows {
  count(): Promise<number>;
  /** By offering, then by status; visible rows that do not await deletion only, as the platform counts. */
  tallies(): Promise<HeldTallies>;
  /** Offerings that stand in a row now or once did. */
  offerings(): Promise<readonly string[]>;
  /** Ids of rows that await deletion: the last listing did not name them, and a person has to accept it. */
  awaiting(): Promise<ReadonlySet<string>>;
  /** The ids at these places of their order. */
  idsAt(places: readonly number[]): Promise<readonly string[]>;
  ids(): AsyncIterable<string>;
  records(ids: readonly string[]): Promise<ReadonlyMap<string, Version>>;
  /** Number of the newest change of this source. The same twice: nothing of it changed in between. */
  mark(): Promise<number>;
  changedSince(mark: number): Promise<ReadonlySet<string>>;
  /** Takes off what the mirror would not keep: the identity of forgotten people, or of everybody. */
  keepable(items: readonly FeedItem[]): Promise<readonly FeedItem[]>;
}

/** Brings the mirror up to date and tells how far. Throws the `Fault` for which it could not. */
export type CatchUp = () => Promise<Instant | null>;
