import type { Kysely } from 'kysely';
import type { Database } from '../schema.js';
import type { Bit, IdentityColumns, SourceState } from '../schema-columns.js';
import type { InvestmentsView } from '../view-schema.js';

/** Read-only views, and the small tables of erasure. */
export type ReadViews = {
  awaiting_deletion: AwaitingDeletionView;
  roster: RosterView;
  sync_status: SyncStatusView;
  round_totals: RoundTotalsView;
  daily_raised: DailyRaisedView;
  investor_totals: InvestorTotalsView;
  identity_residue: { only: number };
  forgotten: { id: string; forgotten_at: string };
};

export interface RosterView
  extends InvestmentsView,
    Partial<Omit<IdentityColumns, 'extra' | 'email_hidden'>> {
  email_hidden: Bit | null;
  identity_extra: string | null;
}

export interface SyncStatusView {
  source: string;
  state: SourceState;
  meaning: string;
  readable: Bit;
  complete_up_to: string | null;
  rows: number;
  rows_incoming: number;
  pages_incoming: number;
  listing_started_at: string | null;
  deletions_waiting: number | null;
  identity_included: Bit | null;
  quarantined: number;
  cursor_saved_at: string | null;
  cursor_expires_at: string | null;
  last_tick_at: string | null;
  last_success_at: string | null;
  last_committed_at: string | null;
  last_outcome: string | null;
  last_error_code: string | null;
  last_error: string | null;
  last_error_at: string | null;
  retry_at: string | null;
  history_from: string | null;
  awaiting_deletion: number;
  names_incomplete: Bit;
  collections_listed_at: string | null;
  collections_problem: string | null;
}

export interface AwaitingDeletionView {
  source: string;
  id: string;
  company_id: string | null;
  offering_id: string | null;
  investor_id: string | null;
  status: string;
  currency: string | null;
  committed_cents: number | null;
  raised_cents: number | null;
  applied_at: string | null;
  missing_since: string;
  generation: number;
  company_name: string | null;
  round_name: string | null;
}

interface Totals {
  source: string;
  currency: string | null;
  investments: number;
  committed_cents: number;
  raised_cents: number;
  /** JSON of the sums as text, when one does not fit into 64 bits. */
  exact_cents: string | null;
}

export interface RoundTotalsView extends Totals {
  company_id: string | null;
  offering_id: string | null;
  status: string;
  in_escrow_cents: number;
  company_name: string | null;
  round_name: string | null;
}

export interface DailyRaisedView extends Totals {
  company_id: string | null;
  /** A UTC day such as `2026-10-20`. */
  day: string | null;
  company_name: string | null;
}

export interface InvestorTotalsView extends Totals {
  investor_id: string;
  first_applied_at: string | null;
  last_applied_at: string | null;
}

export type ReadDatabase = Database & ReadViews;

export function withViews(kysely: Kysely<Database>): Kysely<ReadDatabase> {
  return kysely.withTables<ReadViews>();
}
