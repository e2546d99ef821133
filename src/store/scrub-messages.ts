import type { FaultCode } from '../domain/fault.js';
import type { Scrubbed } from './erasures.js';

export interface ScrubRequest {
  readonly file: string;
  /** The current time for the receipts; the parent process supplies it. */
  readonly now: number;
  /** Progress of an earlier scrub: see `scrub`. */
  readonly rewritten: number;
}

/** Scrubs once. Throws `database_unusable`, `database_full`, and `stopped` when `signal` fires. */
export type Scrubber = (request: ScrubRequest, signal: AbortSignal) => Promise<Scrubbed>;

export type ScrubReply =
  | { readonly kind: 'done'; readonly scrubbed: Scrubbed }
  | {
      readonly kind: 'failed';
      readonly code: FaultCode;
      readonly message: string;
      readonly hint: string | null;
    };
