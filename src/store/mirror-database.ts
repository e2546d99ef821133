import type { Dialect } from 'kysely';
import { Kysely } from './query-builder.js';
import type {
  DailyRaisedView,
  InvestorTotalsView,
  ReadDatabase,
  ReadViews,
  RoundTotalsView,
} from './reads/views.js';
import type { Database } from './schema.js';
import type { InvestmentsView } from './view-schema.js';

/**
 * The types of the public tables and views, as the data dictionary lists them. Internal tables, which may change
 * between versions, are left out. Integers are JavaScript numbers: those of this mirror are all below 2^53.
 */
export interface MirrorDatabase
  extends Pick<
      Database,
      | 'investments'
      | 'identities'
      | 'investment_history'
      | 'changes'
      | 'companies'
      | 'rounds'
      | 'round_stats'
      | 'company_updates'
      | 'company_history'
      | 'round_history'
      | 'collections'
      | 'ticks'
      | 'notices'
      | 'quarantine'
      | 'followed_sources'
      | 'drift'
      | 'sources'
      | 'webhook_inbox'
      | 'erasures'
      | 'data_dictionary'
    >,
    Pick<ReadViews, 'roster' | 'awaiting_deletion' | 'sync_status' | 'forgotten'> {
  incoming: Omit<InvestmentsView, 'valid_from' | 'change_seq'>;
  round_totals: RoundTotalsView;
  daily_raised: DailyRaisedView;
  investor_totals: InvestorTotalsView;
}

/** A typed query interface to a mirror. */
export type MirrorQuery = Kysely<MirrorDatabase>;

type Tables<Of> = { [Name in keyof Of]: Of[Name] };

export interface Readings {
  /** For rosterd's own code. */
  readonly db: Kysely<ReadDatabase>;
  /** For callers of the library; excludes the working tables. */
  readonly query: MirrorQuery;
}

/** Returns both query interfaces over one dialect. */
export function readingsOf(dialect: Dialect): Readings {
  const kysely = new Kysely<object>({ dialect });
  return {
    db: kysely.withTables<Tables<ReadDatabase>>(),
    query: kysely.withTables<Tables<MirrorDatabase>>(),
  };
}
