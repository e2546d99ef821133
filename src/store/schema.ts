import type { Generated } from 'kysely';
import type {
  AfterSyncRowsTable,
  AlertRowsTable,
  AuditLogTable,
  BudgetsTable,
  DataDictionaryTable,
  ErasuresTable,
  FollowedRevisionTable,
  FollowedSourcesTable,
  LeasesTable,
  MigrationsTable,
  NoticeRowsTable,
  OpenAlertsTable,
  OperatorRequestsTable,
  PausesTable,
  WebhookInboxTable,
} from './operating-schema.js';
import type {
  About,
  ActiveState,
  Bit,
  ChangeKind,
  CollectionColumns,
  CompanyColumns,
  DriftColumns,
  EndedBy,
  IdentityColumns,
  QuarantineColumns,
  RecordColumns,
  RoundColumns,
  RoundStatColumns,
  SourceState,
  TickColumns,
  UpdateColumns,
  Versioned,
} from './schema-columns.js';
import type {
  ChangesView,
  CollectionsView,
  CompaniesView,
  CompanyHistoryView,
  CompanyUpdatesView,
  DriftView,
  IdentitiesView,
  InvestmentHistoryView,
  InvestmentsView,
  NoticesView,
  QuarantineView,
  RoundHistoryView,
  RoundStatsView,
  RoundsView,
  TicksView,
} from './view-schema.js';

/**
 * The mirror's tables and views as Kysely types. The views and `sources` are public; tables ending in `_rows` and the
 * working tables may change between versions. The tables of this file hold the sources and what they read; those of rosterd's
 * own work are in `operating-schema.ts`.
 */
export interface Database {
  migrations: MigrationsTable;
  sources: SourcesTable;
  listings: ListingsTable;
  sweeps: SweepsTable;
  investment_rows: InvestmentRowsTable;
  identity_rows: IdentityRowsTable;
  awaiting_deletion_rows: AwaitingDeletionRowsTable;
  history_rows: HistoryRowsTable;
  change_rows: ChangeRowsTable;
  company_rows: CompanyRowsTable;
  company_history_rows: CompanyRowsTable & Superseded;
  offering_rows: OfferingRowsTable;
  offering_history_rows: OfferingRowsTable & Superseded;
  update_rows: UpdateRowsTable;
  round_stat_rows: RoundStatRowsTable;
  collection_rows: CollectionRowsTable;
  staged_rows: StagedRowsTable;
  staged_pages: StagedPagesTable;
  tick_rows: TickRowsTable;
  quarantine_rows: QuarantineRowsTable;
  drift_rows: DriftRowsTable;
  webhook_inbox: WebhookInboxTable;
  notice_rows: NoticeRowsTable;
  leases: LeasesTable;
  budgets: BudgetsTable;
  erasures: ErasuresTable;
  companies: CompaniesView;
  rounds: RoundsView;
  round_stats: RoundStatsView;
  company_updates: CompanyUpdatesView;
  company_history: CompanyHistoryView;
  round_history: RoundHistoryView;
  collections: CollectionsView;
  pauses: PausesTable;
  open_alerts: OpenAlertsTable;
  alert_rows: AlertRowsTable;
  after_sync_rows: AfterSyncRowsTable;
  audit_log: AuditLogTable;
  operator_requests: OperatorRequestsTable;
  followed_sources: FollowedSourcesTable;
  followed_revision: FollowedRevisionTable;
  investments: InvestmentsView;
  identities: IdentitiesView;
  investment_history: InvestmentHistoryView;
  changes: ChangesView;
  ticks: TicksView;
  notices: NoticesView;
  quarantine: QuarantineView;
  drift: DriftView;
  data_dictionary: DataDictionaryTable;
}

export interface SourcesTable {
  no: Generated<number>;
  name: string;
  fingerprint: string;
  state: Generated<SourceState>;
  cursor: string | null;
  cursor_saved_at: string | null;
  published_through: string | null;
  generation: Generated<number>;
  listed_at: string | null;
  listed_seq: number | null;
  rows_held: Generated<number>;
  rows_incoming: Generated<number>;
  pages_incoming: Generated<number>;
  quarantined: Generated<number>;
  identity_included: Bit | null;
  last_tick_at: string | null;
  last_success_at: string | null;
  last_outcome: string | null;
  last_error_code: string | null;
  last_error: string | null;
  last_error_at: string | null;
  retry_at: string | null;
  last_committed_at: string | null;
  last_listing_at: string | null;
  listing_restarts: Generated<number>;
  halted_from: ActiveState | null;
  halted_code: string | null;
  halted_message: string | null;
  halted_at: string | null;
  history_from: string | null;
  awaiting_deletion: Generated<number>;
  names_from_generation: number | null;
  erasing_since: string | null;
  rows_expected: number | null;
}

export interface ListingsTable {
  source_no: number;
  kind: 'first' | 'relist';
  generation: number;
  token: string | null;
  low_mark: string | null;
  pages: Generated<number>;
  rows: Generated<number>;
  restarts: Generated<number>;
  not_before: string | null;
  started_at: string;
  final: string | null;
  would_remove: number | null;
}

export interface SweepsTable {
  source_no: number;
  since: string | null;
  cursor: string;
  reached: string | null;
}

export interface InvestmentRowsTable extends RecordColumns {
  row_no: Generated<number>;
  source_no: number;
  id: string;
  valid_from: string | null;
  change_seq: number | null;
}

export interface IdentityRowsTable extends IdentityColumns {
  row_no: number;
}

export interface AwaitingDeletionRowsTable {
  row_no: number;
  source_no: number;
  generation: number;
  missing_since: string;
}

export interface HistoryRowsTable extends RecordColumns {
  history_no: Generated<number>;
  source_no: number;
  id: string;
  valid_from: string;
  change_seq: number;
  valid_to: string;
  ended_by: EndedBy;
}

export interface ChangeRowsTable {
  seq: Generated<number>;
  source_no: number;
  id: string | null;
  kind: ChangeKind;
  /** What the change is about; null for an investment. */
  about: Generated<About | null>;
  /** JSON of the values before and after, of a company, round or post. */
  old_values: Generated<string | null>;
  new_values: Generated<string | null>;
  fields: Generated<string>;
  reason: string | null;
  at: string;
}

interface VersionedRow extends Versioned {
  source_no: number;
  id: string;
}

export interface Superseded {
  history_no: Generated<number>;
  valid_to: string;
  ended_by: 'update' | 'removed';
}

export interface CompanyRowsTable extends CompanyColumns, VersionedRow {}
export interface OfferingRowsTable extends RoundColumns, VersionedRow {}
export interface UpdateRowsTable extends UpdateColumns, VersionedRow {}

export interface RoundStatRowsTable extends RoundStatColumns {
  source_no: number;
}

export interface CollectionRowsTable extends CollectionColumns {
  source_no: number;
  attempt: number;
}

export interface StagedRowsTable extends RecordColumns {
  stage_no: Generated<number>;
  source_no: number;
  id: string;
  row_no: number | null;
  /** JSON. */
  identity: string | null;
}

export interface StagedPagesTable {
  source_no: number;
  page: number;
  seen: string;
}

export interface TickRowsTable extends TickColumns {
  source_no: number;
}

export interface QuarantineRowsTable extends QuarantineColumns {
  source_no: number;
  digest: string | null;
}

export interface DriftRowsTable extends DriftColumns {
  source_no: number;
}
