/**
 * The tables a statement may read while names are masked. A table in none of these lists is refused, so a migration that
 * adds one must list it here. On PostgreSQL the role `rosterd_analyst` may read the same columns (`grants.sql`).
 */

/** Tables without personal data. */
export const openTables: ReadonlySet<string> = new Set([
  ...['sqlite_schema', 'sqlite_sequence', 'sqlite_stat1', 'migrations', 'data_dictionary'],
  ...['sources', 'listings', 'sweeps', 'staged_pages', 'leases', 'fleet_members', 'fleet_sources'],
  ...['round_rows', 'day_rows', 'investor_rows', 'awaiting_deletion_rows', 'beyond_sums', 'counted_listings'],
  ...['company_rows', 'company_history_rows', 'offering_rows', 'offering_history_rows'],
  ...['update_rows', 'round_stat_rows', 'collection_rows'],
  ...['change_rows', 'tick_rows', 'drift_rows', 'notice_rows'],
  ...['erasures', 'identity_residue', 'pauses', 'open_alerts', 'alert_rows'],
  ...['after_sync_rows', 'followed_sources', 'followed_revision'],
]);

/** Columns that contain names, unknown fields or bodies as received. The other columns of these tables are open. */
export const hiddenColumns: Readonly<Record<string, readonly string[]>> = {
  investment_rows: ['extra'],
  history_rows: ['extra'],
  staged_rows: ['identity', 'extra'],
  quarantine_rows: ['body', 'digest'],
  webhook_inbox: ['body'],
};

/** Tables refused as a whole: names, users of the console, forgotten ids, digests of tokens, and the planner's samples of any table's values. */
export const closedTables: ReadonlySet<string> = new Set([
  ...['identity_rows', 'forgotten', 'budgets', 'sqlite_stat4'],
  ...['audit_log', 'operator_requests'],
]);
