import type { InvestmentId, UserId } from '../domain/ids.js';

export interface Forgotten {
  /** Investments whose identity was held and is gone. */
  readonly identities: number;
  /** Whether it was already to stay forgotten. */
  readonly already: boolean;
}

export type Scrubbed =
  /** No bytes of an erased person are waiting. */
  | { readonly kind: 'clean' }
  | { readonly kind: 'scrubbed'; readonly erasures: number }
  /** Somebody reads or writes the file: ask again later. Nothing waited and nobody was held up. */
  | { readonly kind: 'blocked'; readonly erasures: number };

/**
 * Erasing people. First from sight, in one transaction; then, since a database keeps the bytes of deleted rows
 * in its free pages, from the file. `forget` is final for what is stored and lasting for what comes: the id
 * stays in `forgotten`, and whoever stores identities asks it, until `lift`.
 */
export interface Erasures {
  forget(id: InvestmentId | UserId): Forgotten;
  /** Lets identities of the id be stored again. They come back with the platform's next version of the record. */
  lift(id: InvestmentId | UserId): boolean;
  scrub(): Scrubbed;
}
