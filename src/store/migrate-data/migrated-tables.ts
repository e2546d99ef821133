/** A table that is copied to the other database row by row, unchanged. */
export interface MigratedTable {
  readonly name: string;
  /**
   * Columns by which its rows are ordered for reading and comparing. They are unique, and both databases sort them
   * alike.
   */
  readonly key: readonly string[];
  /** Whether the table is in the identity schema, because its rows can contain names. */
  readonly identity?: true;
  /** The column with an identity sequence, which must continue after the highest copied number. */
  readonly counter?: string;
  /** The column with row numbers: a JSON array in SQLite, an array in PostgreSQL. */
  readonly numbers?: string;
}

/** The tables to copy, parents before children. */
export const migratedTables: readonly MigratedTable[] = [
  { name: 'sources', key: ['no'], counter: 'no' },
  { name: 'listings', key: ['source_no'] },
  { name: 'sweeps', key: ['source_no'] },
  { name: 'investment_rows', key: ['row_no'], counter: 'row_no' },
  { name: 'awaiting_deletion_rows', key: ['row_no'] },
  { name: 'identity_rows', key: ['row_no'], identity: true },
  { name: 'history_rows', key: ['history_no'], counter: 'history_no' },
  { name: 'company_rows', key: ['source_no', 'id'] },
  { name: 'company_history_rows', key: ['history_no'], counter: 'history_no' },
  { name: 'offering_rows', key: ['source_no', 'id'] },
  { name: 'offering_history_rows', key: ['history_no'], counter: 'history_no' },
  { name: 'update_rows', key: ['source_no', 'id'] },
  { name: 'round_stat_rows', key: ['source_no', 'offering_id', 'status'] },
  { name: 'collection_rows', key: ['source_no', 'collection'] },
  { name: 'change_rows', key: ['seq'] },
  { name: 'staged_rows', key: ['stage_no'], identity: true, counter: 'stage_no' },
  { name: 'staged_pages', key: ['source_no', 'page'], numbers: 'seen' },
  { name: 'tick_rows', key: ['tick'], counter: 'tick' },
  { name: 'quarantine_rows', key: ['quarantine_no'], identity: true, counter: 'quarantine_no' },
  { name: 'drift_rows', key: ['source_no', 'field'] },
  { name: 'webhook_inbox', key: ['inbox_no'], identity: true, counter: 'inbox_no' },
  { name: 'notice_rows', key: ['notice'], counter: 'notice' },
  { name: 'budgets', key: ['token'] },
  { name: 'erasures', key: ['erasure'], counter: 'erasure' },
  { name: 'forgotten', key: ['id'] },
  { name: 'pauses', key: ['source'] },
  { name: 'open_alerts', key: ['key'] },
  { name: 'alert_rows', key: ['notice'], counter: 'notice' },
  { name: 'after_sync_rows', key: ['hook'] },
  { name: 'audit_log', key: ['entry'], counter: 'entry' },
  { name: 'operator_requests', key: ['source', 'kind'] },
  { name: 'followed_sources', key: ['source'] },
  { name: 'followed_revision', key: ['one'] },
];

/** The tables that are not copied, with the reason. */
export const leftBehind: Readonly<Record<string, string>> = {
  data_dictionary: 'each database fills its own',
  migrations: 'each database keeps its own',
  leases: 'each process acquires its leases again',
  round_rows: 'PostgreSQL computes these totals at query time',
  day_rows: 'likewise',
  investor_rows: 'likewise',
  beyond_sums: 'likewise',
  counted_listings: 'likewise',
  identity_residue: 'only the old file may still contain bytes of erased identities',
};
