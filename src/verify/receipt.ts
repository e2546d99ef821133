import type { FaultCode } from '../domain/fault.js';
import type { Instant } from '../domain/instant.js';
import type { CentsSum } from '../domain/money.js';
import type { Tally } from './ports.js';

/** An amount that differs between the two sides; null on a side that has none. */
export interface AmountDifference {
  readonly column: string;
  readonly held: CentsSum | null;
  readonly platform: CentsSum | null;
}

/**
 * Of a company, round or post. They have no feed: the difference may only wait for the next listing. Other differences
 * have neither field.
 */
export interface ListedDrift {
  /** When it was last listed; null if it never was. */
  readonly listed_at?: Instant | null;
  /** When it is listed again without a reason, give or take a tenth of the interval. */
  readonly due_at?: Instant;
}

/** One difference between mirror and platform. Ids, column names and amounts, never a person's identity. */
export type Drift =
  | {
      readonly kind: 'tally';
      readonly offering: string;
      readonly status: string;
      readonly amounts: readonly AmountDifference[];
    }
  | ({
      readonly kind: 'record';
      readonly id: string;
      readonly columns: readonly string[];
      readonly amounts: readonly AmountDifference[];
    } & ListedDrift)
  /** On the platform, not in the mirror. */
  | ({ readonly kind: 'missing'; readonly id: string } & ListedDrift)
  /** In the mirror, not on the platform. */
  | ({ readonly kind: 'extra'; readonly id: string } & ListedDrift)
  /** Awaits deletion in the mirror, but exists on the platform. */
  | { readonly kind: 'doubted'; readonly id: string };

/** Whether the difference is one of a company, round or post. */
export const isOfCatalog = (drift: Drift): boolean => 'listed_at' in drift;

export interface StatsReceipt {
  readonly offerings: number;
  /** What the platform counted in the compared offerings. */
  readonly total: Tally;
  /** Offerings that could not be compared, and why. */
  readonly skipped: readonly { readonly offering: string; readonly why: string }[];
}

export interface SampleReceipt {
  readonly seed: number;
  readonly compared: number;
  /** Changed on the platform but not published yet, so there is nothing to compare with. */
  readonly unpublished: number;
}

export interface FullReceipt {
  readonly listed: number;
  readonly compared: number;
  /** Records of the listing that could not be parsed; they are in quarantine. */
  readonly unreadable: number;
}

export interface Ended {
  readonly code: FaultCode;
  readonly message: string;
  readonly hint: string | null;
  readonly retry_at: Instant | null;
}

/** What was compared and with which result. A part that was not reached is null. */
export interface SourceReceipt {
  readonly source: string;
  /**
   * `awaiting`: equal except for rows that await deletion. `unsettled`: the source kept changing, so a difference
   * could be neither confirmed nor ruled out. `incomplete`: no difference was found, but records are unreadable, or
   * nothing was compared.
   */
  readonly outcome: 'equal' | 'awaiting' | 'incomplete' | 'drift' | 'unsettled' | 'unfinished' | 'failed';
  readonly at: Instant;
  readonly took_ms: number;
  readonly published_through: Instant | null;
  readonly rows: number;
  /**
   * Rows that await deletion. The platform need not have them: they are no drift, but the mirror is not equal either.
   */
  readonly awaiting_deletion: number;
  /** Records in quarantine without a later readable version: the mirror lacks them or their newest version. */
  readonly quarantined: number;
  readonly stats: StatsReceipt | null;
  readonly sample: SampleReceipt | null;
  readonly full: FullReceipt | null;
  readonly drift: readonly Drift[];
  readonly unsettled: readonly string[];
  readonly ended: Ended | null;
}
