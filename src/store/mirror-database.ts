import { type Dialect, Kysely } from 'kysely';
import type { ReadDatabase, ReadViews } from './reads/views.js';
import type { Database, InvestmentsView } from './schema.js';

/**
 * What others may query, typed: the views and tables of the data dictionary, and nothing that may change between
 * versions. Integers come as numbers; those of this mirror are all below 2^53.
 */
export interface MirrorDatabase
  extends Pick<
      Database,
      | 'investments'
      | 'identities'
      | 'investment_history'
      | 'changes'
      | 'ticks'
      | 'notices'
      | 'quarantine'
      | 'drift'
      | 'sources'
      | 'webhook_inbox'
      | 'erasures'
    >,
    Pick<ReadViews, 'roster' | 'awaiting_deletion' | 'sync_status' | 'forgotten'> {
  incoming: Omit<InvestmentsView, 'valid_from' | 'change_seq'>;
  round_totals: RoundTotalsView;
  daily_raised: DailyRaisedView;
  investor_totals: InvestorTotalsView;
}

/** Typed reading of a mirror. */
export type MirrorQuery = Kysely<MirrorDatabase>;

type Tables<Of> = { [Name in keyof Of]: Of[Name] };

export interface Readings {
  /** For ourselves. */
  readonly db: Kysely<ReadDatabase>;
  /** For others: without the working tables. */
  readonly query: MirrorQuery;
}

/** Over one connection. */
export function readingsOf(dialect: Dialect): Readings {
  const kysely = new Kysely<object>({ dialect });
  return {
    db: kysely.withTables<Tables<ReadDatabase>>(),
    query: kysely.withTables<Tables<MirrorDatabase>>(),
  };
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
}

export interface DailyRaisedView extends Totals {
  company_id: string | null;
  /** A UTC day such as `2026-10-20`. */
  day: string | null;
}

export interface InvestorTotalsView extends Totals {
  investor_id: string;
  first_applied_at: string | null;
  last_applied_at: string | null;
}
