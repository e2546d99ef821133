/** Internal tables, which any version may change. They are listed so that every table in the database is explained. */
export const innerRelations: Readonly<Record<string, string>> = {
  investment_rows: 'Rows behind `investments`, including those of an unfinished first listing.',
  identity_rows: 'Rows behind `identities`.',
  history_rows: 'Rows behind `investment_history`.',
  change_rows: 'Rows behind `changes`.',
  company_rows: 'Rows behind `companies`.',
  company_history_rows: 'Rows behind `company_history`.',
  offering_rows: 'Rows behind `rounds`.',
  offering_history_rows: 'Rows behind `round_history`.',
  update_rows: 'Rows behind `company_updates`.',
  round_stat_rows: 'Rows behind `round_stats`.',
  collection_rows: 'Rows behind `collections`, with the number of the newest attempt.',
  round_rows: 'Rows behind `round_totals`, updated by triggers. SQLite only.',
  day_rows: 'Rows behind `daily_raised`, updated by triggers. SQLite only.',
  investor_rows: 'Rows behind `investor_totals`, updated by triggers. SQLite only.',
  beyond_sums: 'Sources with a sum beyond 64 bits. Their totals are computed at query time. SQLite only.',
  counted_listings:
    'First listings whose totals are computed before they are published, and how far that is. SQLite only.',
  tick_rows: 'Rows behind `ticks`.',
  notice_rows: 'Rows behind `notices`.',
  quarantine_rows: 'Rows behind `quarantine`.',
  drift_rows: 'Rows behind `drift`.',
  listings: 'The listing in progress of each source.',
  sweeps: 'The part of the feed that a source still has to read after a listing.',
  staged_rows: 'Rows of a re-listing that differ from the stored rows.',
  staged_pages: 'The stored rows that the pages of a re-listing named.',
  leases: 'Which process holds the lease of each source.',
  budgets: 'Request quota used per token and window. The token is stored as a digest.',
  awaiting_deletion_rows: 'Marks behind `awaiting_deletion`.',
  identity_residue: 'Set while bytes of removed identities are still to be scrubbed from the file.',
  pauses: 'Sources that an operator has paused.',
  open_alerts: 'Conditions that were reported to operators and have not been resolved.',
  alert_rows:
    'Messages about these conditions, each to one receiver. `state` and `last_error` are as in `notices`.',
  after_sync_rows: 'What each after-sync hook has reported, and the run that is not settled yet.',
  audit_log: 'What users of the console did. Read while names are shown only: it names users.',
  operator_requests: 'What operators asked for at the console, until a daemon has performed it.',
  followed_revision: 'Grows with every write to `followed_sources`.',
  migrations: 'Schema migrations that ran, and the version of rosterd that ran them.',
};

/** Tables that PostgreSQL keeps in the identity schema. In the schema of the mirror, views have their names. */
export const identityTables = ['identity_rows', 'staged_rows', 'quarantine_rows', 'webhook_inbox'] as const;

/** Tables that PostgreSQL keeps in the schema of the vault. SQLite has files instead. */
export const vaultRelations: Readonly<Record<string, string>> = {
  vault_entries:
    'Tokens, sign-ins and signing secrets that rosterd writes itself, encrypted with keys that the server never sees.',
  vault_locks: 'Which process may write each entry of the vault, and until when.',
};
