import { type Dialect, Kysely } from 'kysely';
import type {
  DailyRaisedView,
  InvestorTotalsView,
  ReadDatabase,
  ReadViews,
  RoundTotalsView,
} from './reads/views.js';
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
