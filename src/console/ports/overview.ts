import type { StatusSeen } from '../ports.js';
import type { SourceSeen } from './activity.js';

export interface OverviewSeen extends StatusSeen {
  readonly sources: readonly Omit<SourceSeen, 'quota'>[];
  /** The companies with the most investments: all of them where they are few. */
  readonly companies: readonly CompanyFigures[];
  readonly companies_count: number;
  /** The sums over all companies of each currency, the one with the most investments first. */
  readonly all: readonly CurrencyFigures[];
  /** The two weeks that the figures compare, as days in UTC. */
  readonly weeks: Weeks;
  /** The newest changes, latest first. */
  readonly changes: readonly ChangeSeen[];
}

/** Seven days that end with today, and the seven before. */
export interface Weeks {
  readonly from: string;
  readonly to: string;
  readonly beforeFrom: string;
  readonly beforeTo: string;
}

/** The figures of one company in one currency. */
export interface CompanyFigures extends CompanyTotals {
  readonly investors: number;
  /** Current investments of the week and of the one before, by the day the investor applied. */
  readonly week: Sums;
  readonly weekBefore: Sums;
}

/** The figures of all companies in one currency. Without investors: one may have invested in several companies. */
export interface CurrencyFigures extends Amounts {
  readonly week: Sums;
  readonly weekBefore: Sums;
}

export type Sums = Omit<Amounts, 'currency'>;

/** Columns and their values; without unknown fields, which may be personal. */
export type ChangedValues = Readonly<Record<string, unknown>>;

/** A change with what its investment, company or round is called. */
export interface ChangeSeen {
  readonly seq: number;
  readonly at: string;
  readonly source: string;
  readonly kind: string;
  readonly id: string | null;
  /** The columns that changed; those of identity begin with `identity.`. */
  readonly fields: readonly string[];
  /** Null as in the view `changes`. */
  readonly before: ChangedValues | null;
  readonly after: ChangedValues | null;
  readonly company_id: string | null;
  readonly company_name: string | null;
  readonly offering_id: string | null;
  readonly round_name: string | null;
  /** What the companies and rounds that `before` and `after` name are called, by id. One without a name is missing. */
  readonly names: Readonly<Record<string, string>>;
  readonly currency: string | null;
  /** The title of a post. */
  readonly title: string | null;
}

/** The mirror as it was at a past time. */
export interface PastOverviewSeen {
  readonly totals: readonly (CompanyTotals & { readonly status: string })[];
  /** Sources that the mirror did not have yet. */
  readonly younger: readonly { readonly source: string; readonly from: string }[];
  /** The newest changes of then, latest first. */
  readonly changes: readonly ChangeSeen[];
}

/** The totals of companies at a past time. */
export interface PastCompanies {
  readonly totals: readonly CompanyTotals[];
  readonly younger: PastOverviewSeen['younger'];
}

export interface Amounts {
  readonly currency: string | null;
  readonly investments: number;
  readonly committed_cents: number;
  readonly raised_cents: number;
}

export interface CompanyTotals extends Amounts {
  readonly source: string;
  readonly company_id: string | null;
  readonly company_name: string | null;
}
