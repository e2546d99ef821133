import type { Generated } from 'kysely';

/**
 * The mirror's tables and views as Kysely types. The views and `sources` are public; tables ending in `_rows` and the
 * working tables may change between versions.
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

/** SQLite's boolean. */
export type Bit = 0 | 1;

/** Versions before 0.2 wrote `held` when the deletion brake stopped a complete listing; it is read as `relisting`. */
export type ActiveState = 'empty' | 'listing' | 'relisting' | 'held' | 'sweeping' | 'following';
export type SourceState = ActiveState | 'halted';

export interface RecordColumns {
  company_id: string | null;
  offering_id: string | null;
  investor_id: string | null;
  status: string;
  group_label: string | null;
  investment_type: string | null;
  offering_type: string | null;
  applied_at: string | null;
  currency: string | null;
  committed_cents: number | null;
  investment_size_cents: number | null;
  in_escrow_cents: number | null;
  raised_cents: number | null;
  shares: string | null;
  average_share_price: string | null;
  needs_whitelisting: Bit;
  visible: Bit;
  converted_to: string | null;
  converted_from: string | null;
  investor_deactivated: Bit;
  via_entity: Bit;
  /** JSON. */
  blockers: string;
  /** JSON. */
  contracts: string;
  observed_at: string;
  reason: string | null;
  /** JSON of fields this version does not know. */
  extra: string | null;
}

export interface IdentityColumns {
  name: string | null;
  legal_name: string | null;
  email: string | null;
  address_line: string | null;
  city: string | null;
  state: string | null;
  postal_code: string | null;
  country: string | null;
  bio: string | null;
  message: string | null;
  external_username: string | null;
  email_hidden: Bit;
  extra: string | null;
}

export interface MigrationsTable {
  number: number;
  name: string;
  checksum: string;
  applied_at: string;
  version: string;
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
}

export interface FollowedSourcesTable {
  source: string;
  rule: string;
  realm: 'live' | 'test' | 'unknown';
  target_type: string;
  target: string;
  installation: string;
  state: 'waiting' | 'connected' | 'disconnected' | 'erased';
  reason: 'revoked' | 'gone' | 'excepted' | 'rule_removed' | 'forgotten' | null;
  /** Separated by spaces. */
  scopes: string | null;
  mints: number;
  last_mint_at: string | null;
  first_seen_at: string;
  connected_at: string | null;
  disconnected_at: string | null;
  erase_after: string | null;
  erased_at: string | null;
  erased_rows: number | null;
}

export interface FollowedRevisionTable {
  one: number;
  revision: number;
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

export type EndedBy = 'update' | 'tombstone' | 'relist';

export type ChangeKind = 'snapshot' | 'added' | 'changed' | 'removed';

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

export type About = 'company' | 'round' | 'update';

export interface CompanyColumns {
  name: string | null;
  slug: string | null;
  url: string | null;
  status: string | null;
  currency: string | null;
  tagline: string | null;
  city: string | null;
  state: string | null;
  country: string | null;
  current_round_id: string | null;
  raised_cents: number | null;
  profile_raised_cents: number | null;
  reported_elsewhere_cents: number | null;
  /** JSON. */
  reported_rounds: string;
  unavailable: string | null;
  /** JSON of fields this version does not know. */
  extra: string | null;
}

export interface RoundColumns {
  company_id: string | null;
  name: string | null;
  kind: string | null;
  exemption: string | null;
  status: string | null;
  testing_the_waters: Bit | null;
  currency: string | null;
  target_cents: number | null;
  max_target_cents: number | null;
  min_investment_cents: number | null;
  raised_cents_reported: number | null;
  investor_count_reported: number | null;
  opened_at: string | null;
  closes_at: string | null;
  closed_at: string | null;
  /** JSON. */
  terms: string | null;
  unavailable: string | null;
  /** JSON of fields this version does not know. */
  extra: string | null;
}

export interface UpdateColumns {
  company_id: string;
  kind: string | null;
  title: string | null;
  audience: string | null;
  published_at: string | null;
  pinned: Bit | null;
  url: string | null;
  /** JSON of fields this version does not know. */
  extra: string | null;
}

interface Versioned {
  valid_from: string;
  change_seq: number;
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

interface RoundStatColumns {
  offering_id: string;
  status: string;
  company_id: string | null;
  currency: string | null;
  investments: number;
  committed_cents: number;
  raised_cents: number;
  published_through: string | null;
  asked_at: string;
}

export interface RoundStatRowsTable extends RoundStatColumns {
  source_no: number;
}

interface CollectionColumns {
  collection: string;
  asked_at: string;
  listed_at: string | null;
  problem: string | null;
  problem_since: string | null;
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

interface TickColumns {
  tick: Generated<number>;
  trigger: 'start' | 'timer' | 'webhook' | 'manual';
  mode: string;
  started_at: string;
  took_ms: number;
  pages: number;
  added: number;
  changed: number;
  removed: number;
  quarantined: number;
  outcome: string;
  code: string | null;
  message: string | null;
}

export interface TickRowsTable extends TickColumns {
  source_no: number;
}

interface QuarantineColumns {
  quarantine_no: Generated<number>;
  id: string | null;
  problem: string;
  body: string | null;
  seen_at: string;
  resolved_at: string | null;
  times: Generated<number>;
}

export interface QuarantineRowsTable extends QuarantineColumns {
  source_no: number;
  digest: string | null;
}

interface DriftColumns {
  field: string;
  times: number;
  first_seen: string;
  last_seen: string;
}

export interface DriftRowsTable extends DriftColumns {
  source_no: number;
}

export interface WebhookInboxTable {
  inbox_no: Generated<number>;
  event_id: string;
  installation: string;
  event: string;
  source: string | null;
  investment: string | null;
  observed_at: string | null;
  test: Generated<Bit>;
  received_at: string;
  state: Generated<'pending' | 'worked' | 'ignored' | 'given_up'>;
  attempts: Generated<number>;
  next_at: string | null;
  worked_at: string | null;
  body: string | null;
}

interface NoticeColumns {
  notice: Generated<number>;
  seq: number;
  target: string;
  body: string;
  queued_at: string;
  state: Generated<'pending' | 'delivered' | 'given_up'>;
  attempts: Generated<number>;
  next_at: string;
  delivered_at: string | null;
  last_error: string | null;
}

export interface NoticeRowsTable extends NoticeColumns {
  source_no: number;
}

export interface LeasesTable {
  source_no: number;
  holder: string;
  fence: number;
  expires_at: string;
}

export interface BudgetsTable {
  token: string;
  window_start: string;
  spent: number;
  blocked_until: string | null;
  fixed_start: string | null;
  fixed_spent: number | null;
}

export interface ErasuresTable {
  erasure: Generated<number>;
  source_no: number | null;
  id: string | null;
  cause: string;
  invisible_at: string;
  scrubbed_at: string | null;
}

export interface PausesTable {
  source: string;
  paused_at: string;
}

export interface AuditLogTable {
  entry: Generated<number>;
  at: string;
  actor: string;
  role: string;
  action: string;
  outcome: 'asked' | 'done' | 'refused' | 'failed';
  source: string | null;
  subject: string | null;
  rows_seen: number | null;
  note: string | null;
}

export interface OperatorRequestsTable {
  source: string;
  kind: 'resync' | 'accept_deletions' | 'retry_quarantine';
  actor: string;
  role: string;
  asked_at: string;
  /** The number of rows whose deletion the operator confirmed; null for other kinds. */
  confirmed_rows: number | null;
}

export interface OpenAlertsTable {
  key: string;
  kind: string;
  source: string | null;
  text: string;
  since: string;
  gone_since: string | null;
}

export interface AlertRowsTable {
  notice: Generated<number>;
  key: string;
  /** Empty for an alert about the whole daemon. */
  source: string;
  target: string;
  body: string;
  queued_at: string;
  state: Generated<'pending' | 'delivered' | 'given_up'>;
  attempts: Generated<number>;
  next_at: string;
  delivered_at: string | null;
  last_error: string | null;
}

export interface AfterSyncRowsTable {
  hook: string;
  done_seq: number;
  tried_seq: number;
  body: string | null;
  last_seq: number | null;
  queued_at: string | null;
  next_at: string | null;
  attempts: Generated<number>;
  ran_at: string | null;
  succeeded_at: string | null;
  last_error: string | null;
}

interface Keyed {
  source: string;
  id: string;
}

interface Named {
  company_name: string | null;
  round_name: string | null;
}

export interface InvestmentsView extends Keyed, RecordColumns, Named {
  valid_from: string;
  change_seq: number;
}

export interface CompaniesView extends Keyed, CompanyColumns, Versioned {}
export interface CompanyHistoryView extends CompaniesView {
  valid_to: string;
  ended_by: 'update' | 'removed';
}

export interface RoundsView extends Keyed, RoundColumns, Versioned, Pick<Named, 'company_name'> {}
export interface RoundHistoryView extends Keyed, RoundColumns, Versioned {
  valid_to: string;
  ended_by: 'update' | 'removed';
}

export interface CompanyUpdatesView extends Keyed, UpdateColumns, Versioned, Pick<Named, 'company_name'> {}

export interface RoundStatsView extends RoundStatColumns, Named {
  source: string;
}

export interface CollectionsView extends CollectionColumns {
  source: string;
}

export interface IdentitiesView extends Keyed, IdentityColumns {}

export interface InvestmentHistoryView extends Keyed, RecordColumns, Named {
  valid_from: string;
  change_seq: number;
  valid_to: string;
  ended_by: EndedBy;
}

export interface ChangesView {
  seq: number;
  source: string;
  id: string | null;
  kind: ChangeKind | `${About}_${Exclude<ChangeKind, 'snapshot'>}`;
  fields: string;
  reason: string | null;
  at: string;
  /** JSON. */
  before: string | null;
  /** JSON. */
  after: string | null;
}

export interface TicksView extends TickColumns {
  source: string;
}

export interface NoticesView extends NoticeColumns {
  source: string;
}

export interface QuarantineView extends QuarantineColumns {
  source: string;
}

export interface DataDictionaryTable {
  relation: string;
  position: number;
  column_name: string | null;
  type: string;
  meaning: string;
  null_when: string | null;
}

export interface DriftView extends DriftColumns {
  source: string;
}
