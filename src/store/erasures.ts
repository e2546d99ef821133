import type { InvestmentId, UserId } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';

/** Why identity data was erased. `removed`: a value was replaced or trimmed; only the scrub records this cause. */
export type Cause =
  | 'tombstone'
  | 'absent'
  | 'deactivated'
  | 'grant_lost'
  | 'dropped'
  | 'forget'
  | 'source_erased'
  | 'removed';

export type PersonOrInvestment = InvestmentId | UserId;

/** An id that must stay forgotten, and the time of the forget request. */
export interface ForgottenSince {
  readonly id: PersonOrInvestment;
  readonly at: Instant;
}

export interface Forgotten {
  /** Number of investments whose stored identity was erased. */
  readonly identities: number;
  /** Whether an earlier request had already forgotten this id. */
  readonly already: boolean;
  /** When the identity became invisible: with an earlier request, if this one found none to erase. */
  readonly invisibleAt: Instant;
}

export type Scrubbed =
  /** No bytes of erased data are waiting to be scrubbed. */
  | { readonly kind: 'clean' }
  | { readonly kind: 'scrubbed'; readonly erasures: number }
  /**
   * Another process uses the file, or a transaction of the server may still see the rows; retry later. The attempt neither
   * waited nor blocked anyone.
   */
  | { readonly kind: 'blocked'; readonly erasures: number; readonly rewritten: number }
  /** The disk is too full: rewriting needs room for copies. `bytesMissing` is null on a server, which does not say it. */
  | { readonly kind: 'no_room'; readonly erasures: number; readonly bytesMissing: number | null };

export interface PendingErasures {
  readonly receipts: number;
  /** Time of the oldest pending receipt. */
  readonly since: Instant | null;
  /** Replaced or trimmed values may still have bytes in the file or the tables. */
  readonly residue: boolean;
  /** Whether a listing is in progress. */
  readonly listing: boolean;
}

/** SQLite returns the value directly, PostgreSQL a promise. */
export type Awaitable<Value> = Value | Promise<Value>;

export type WriteDown = (since: ForgottenSince, forgotten: Forgotten) => void;

/**
 * Erases identity data in two steps. One transaction first makes it invisible to every query. A scrub then removes the
 * bytes of the deleted rows from the file, because a database keeps them in its free pages. `forget` deletes what is
 * stored and also blocks what arrives later: the id stays in `forgotten`, which every write of identities checks,
 * until `lift`.
 */
export interface Erasures {
  /**
   * Throws `usage` for an unknown id. `writeDown` is called before the commit, with what this returns after it; if it throws,
   * nothing is committed.
   */
  forget(id: PersonOrInvestment, writeDown?: WriteDown): Awaitable<Forgotten>;
  /** Returns every id that must stay forgotten now. */
  forgotten(): Awaitable<readonly ForgottenSince[]>;
  /** Returns the time of the newest forget request that this database carried out for each id, lifted since or not. */
  requests(): Awaitable<ReadonlyMap<PersonOrInvestment, Instant>>;
  /**
   * Reapplies forget requests made before this database was restored from a copy. Also accepts unknown ids, because the
   * next page may bring them. Returns the number of ids for which data was still stored.
   */
  recall(people: readonly ForgottenSince[]): Awaitable<number>;
  /** Allows identities of the id to be stored again. They return with the platform's next version of the record. */
  lift(id: PersonOrInvestment): Awaitable<boolean>;
  /** Erases all identities. Returns the number of sources that had any. */
  dropAll(): Awaitable<number>;
  /** The same for the sources that these rules follow. Those that are known to have none are not read. */
  dropFollowed(rules: readonly string[]): Awaitable<number>;
  pending(): Awaitable<PendingErasures>;
  scrub(): Awaitable<Scrubbed>;
}
