import type { ChildFailed } from '../runtime/child-failed.js';
import type { Scrubbed } from './erasures.js';

export interface ScrubRequest {
  readonly file: string;
  /** The current time for the receipts; the parent process supplies it. */
  readonly now: number;
  /** Progress of an earlier scrub: see `scrub`. */
  readonly rewritten: number;
  /** Whether to overwrite the unused bytes where they are, or to rewrite the file with VACUUM. */
  readonly way: 'in place' | 'rewrite';
}

/**
 * Scrubs once. Returns null if the file cannot be scrubbed in place. Throws `database_unusable`, `database_full`, and
 * `stopped` when `signal` fires.
 */
export type Scrubber = (request: ScrubRequest, signal: AbortSignal) => Promise<Scrubbed | null>;

export type ScrubReply = { readonly kind: 'done'; readonly scrubbed: Scrubbed | null } | ChildFailed;
