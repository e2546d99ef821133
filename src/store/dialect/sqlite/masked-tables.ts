/**
 * What a statement may read while names are masked. A table that is in no list is refused, so a migration that adds
 * one has to decide. The same columns are open to the role `rosterd_analyst` of PostgreSQL (`grants.sql`).
 */

/** Tables without a word that a person wrote about themselves. */
export const openTables: ReadonlySet<string> = new Set([
  ...['sqlite_schema', 'sqlite_sequence', 'sqlite_stat1', 'migrations'],
  ...['sources', 'listings', 'sweeps', 'staged_pages', 'leases', 'fleet_members', 'fleet_sources'],
  ...[
    'investment_rows',
    'history_rows',
    'round_rows',
    'day_rows',
    'investor_rows',
    'awaiting_deletion_rows',
    'beyond_sums',
  ],
  ...['change_rows', 'tick_rows', 'drift_rows', 'notice_rows'],
  ...['erasures', 'identity_residue'],
]);

/** Tables with columns that hold names or bodies as they were sent; the other columns are open. */
export const hiddenColumns: Readonly<Record<string, readonly string[]>> = {
  staged_rows: ['identity'],
  quarantine_rows: ['body', 'digest'],
  webhook_inbox: ['body'],
};

/** Tables that are refused whole: names, who was forgotten, digests of tokens, and samples of values of any table. */
export const closedTables: ReadonlySet<string> = new Set([
  ...['identity_rows', 'forgotten', 'budgets', 'sqlite_stat4'],
]);
