import type { Generated } from 'kysely';
import type { Bit, MessageColumns, NoticeColumns } from './schema-columns.js';

/*
 * The tables of rosterd's own work: migrations and dictionary, leases and budgets, inbox, notices and alerts, erasures,
 * requests of operators, and the sources that follow rules make.
 */

export interface MigrationsTable {
  number: number;
  name: string;
  checksum: string;
  applied_at: string;
  version: string;
}

export interface DataDictionaryTable {
  relation: string;
  position: number;
  column_name: string | null;
  type: string;
  meaning: string;
  null_when: string | null;
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

export interface AlertRowsTable extends MessageColumns {
  key: string;
  /** Empty for an alert about the whole daemon. */
  source: string;
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
