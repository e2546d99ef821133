import type { FaultCode } from '../domain/fault.js';
import type { Instant } from '../domain/instant.js';
import type { Tally } from './ports.js';

/** An amount that is not the same on both sides; null where one side has none. */
export interface AmountDifference {
  readonly column: string;
  readonly held: number | null;
  readonly platform: number | null;
}

/** One thing the mirror says and the platform does not. Ids, names of columns and amounts; never who somebody is. */
export type Drift =
  | {
      readonly kind: 'tally';
      readonly offering: string;
      readonly status: string;
      readonly amounts: readonly AmountDifference[];
    }
  | {
      readonly kind: 'record';
      readonly id: string;
      readonly columns: readonly string[];
      readonly amounts: readonly AmountDifference[];
    }
  /** On the platform and not in the mirror. */
  | { readonly kind: 'missing'; readonly id: string }
  /** In the mirror and not on the platform. */
  | { readonly kind: 'extra'; readonly id: string }
  /** Awaits deletion in the mirror, and the platform has it. */
  | { readonly kind: 'doubted'; readonly id: string };

export interface StatsReceipt {
  readonly offerings: number;
  /** What the platform counted in the offerings compared. */
  readonly total: Tally;
  /** Offerings whose counts could not be held against the mirror, and why. */
  readonly skipped: readonly { readonly offering: string; readonly why: string }[];
}

export interface SampleReceipt {
  readonly seed: number;
  readonly compared: number;
  /** Changed on the platform and not published yet: there is nothing to compare them with. */
  readonly unpublished: number;
}

export interface FullReceipt {
  readonly listed: number;
  readonly compared: number;
  /** Records of the listing that could not be read; they stand in quarantine. */
  readonly unreadable: number;
}

export interface Ended {
  readonly code: FaultCode;
  readonly message: string;
  readonly hint: string | null;
  readonly retry_at: Instant | null;
}

/** What was held against what, and what came of it. A part that was not reached is null. */
export interface SourceReceipt {
  readonly source: string;
  /**
   * `awaiting`: equal but for rows that await deletion. `unsettled`: the source kept changing, so that a difference could
   * neither be named nor ruled out.
   */
  readonly outcome: 'equal' | 'awaiting' | 'drift' | 'unsettled' | 'unfinished' | 'failed';
  readonly at: Instant;
  readonly took_ms: number;
  readonly published_through: Instant | null;
  readonly rows: number;
  /** Rows that await deletion, which the platform need not have: no drift, and not equal. */
  readonly awaiting_deletion: number;
  readonly stats: StatsReceipt | null;
  readonly sample: SampleReceipt | null;
  readonly full: FullReceipt | null;
  readonly drift: readonly Drift[];
  readonly unsettled: readonly string[];
  readonly ended: Ended | null;
}
