import type { InvestmentId, UserId } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';

/** Why identity went. `removed` is a value that was replaced or trimmed, found by the scrub alone. */
export type Cause = 'tombstone' | 'absent' | 'deactivated' | 'grant_lost' | 'dropped' | 'forget' | 'removed';

export type PersonOrInvestment = InvestmentId | UserId;

/** Who is to stay forgotten, and since when. */
export interface ForgottenSince {
  readonly id: PersonOrInvestment;
  readonly at: Instant;
}

export interface Forgotten {
  /** Investments whose identity was held and is gone. */
  readonly identities: number;
  /** Whether it was already to stay forgotten. */
  readonly already: boolean;
  readonly invisibleAt: Instant;
}

export type Scrubbed =
  /** No bytes of an erased person are waiting. */
  | { readonly kind: 'clean' }
  | { readonly kind: 'scrubbed'; readonly erasures: number }
  /** Somebody reads or writes the file: ask again later. Nothing waited and nobody was held up. */
  | { readonly kind: 'blocked'; readonly erasures: number; readonly rewritten: number }
  /** Rewriting the file needs room for two copies of it. */
  | { readonly kind: 'no_room'; readonly erasures: number; readonly bytesMissing: number };

export interface PendingErasures {
  readonly receipts: number;
  /** The oldest of them. */
  readonly since: Instant | null;
  /** Values were replaced or trimmed whose bytes may still stand in the file. */
  readonly residue: boolean;
  /** A listing is under way. */
  readonly listing: boolean;
}

/** SQLite answers at once, a server some time later. */
export type Awaitable<Value> = Value | Promise<Value>;

/**
 * Erasing people. First from sight, in one transaction; then, since a database keeps the bytes of deleted rows
 * in its free pages, from the file. `forget` is final for what is stored and lasting for what comes: the id
 * stays in `forgotten`, and whoever stores identities asks it, until `lift`.
 */
export interface Erasures {
  /**
   * Throws `usage` for an id nobody here has heard of. `writeDown` is called before anything is committed and, by
   * throwing, keeps it from being so.
   */
  forget(id: PersonOrInvestment, writeDown?: (since: ForgottenSince) => void): Awaitable<Forgotten>;
  /** Everybody of whom that is true now. */
  forgotten(): Awaitable<readonly ForgottenSince[]>;
  /**
   * Forgets again whom somebody asked to forget before this database was copied; known here or not, because the
   * next page may bring them. Answers of how many something was held.
   */
  recall(people: readonly ForgottenSince[]): Awaitable<number>;
  /** Lets identities of the id be stored again. They come back with the platform's next version of the record. */
  lift(id: PersonOrInvestment): Awaitable<boolean>;
  /** Erases everybody's identity; answers for how many sources there was any. */
  dropAll(): Awaitable<number>;
  pending(): Awaitable<PendingErasures>;
  scrub(): Awaitable<Scrubbed>;
}
