import type { Amounts, CompanyFigures, Weeks } from './overview.js';

export interface CompanySeen {
  /** What the company is called; null when nothing names it. */
  readonly name: string | null;
  readonly byStatus: readonly (Amounts & { readonly status: string })[];
  readonly byRound: readonly (Amounts & {
    readonly offering_id: string | null;
    readonly round_name: string | null;
    readonly in_escrow_cents: number;
  })[];
  readonly byDay: readonly (Amounts & { readonly day: string })[];
  /** Withdrawn investments, counted by the day they left and by the day the investor applied. */
  readonly leftByDay: readonly DayCount[];
  readonly goneByDay: readonly DayCount[];
  readonly largest: readonly LargeChange[];
  /** One row for each currency of the current investments. */
  readonly figures: readonly CompanyFigures[];
  readonly weeks: Weeks;
  readonly rounds: readonly RoundSeen[];
}

/** A round as the platform describes it; null for what it does not say. */
export interface RoundSeen {
  readonly id: string;
  readonly name: string | null;
  readonly status: string | null;
  readonly testing_the_waters: 0 | 1 | null;
  readonly currency: string | null;
  readonly target_cents: number | null;
  readonly max_target_cents: number | null;
  readonly min_investment_cents: number | null;
  readonly opened_at: string | null;
  readonly closes_at: string | null;
  readonly closed_at: string | null;
}

/** Withdrawn investments of one day. */
export interface DayCount {
  readonly day: string;
  readonly currency: string | null;
  readonly investments: number;
}

export interface LargeChange {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly id: string;
  readonly round_name: string | null;
  readonly currency: string | null;
  readonly before_cents: number;
  readonly after_cents: number;
}
