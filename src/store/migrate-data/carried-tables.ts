/** A table that goes from one database to the other, row by row as it stands. */
export interface CarriedTable {
  readonly name: string;
  /** What its rows are read and compared in the order of: unique, and ordered alike by both databases. */
  readonly key: readonly string[];
  /** Lies in the schema in which names can stand. */
  readonly identity?: true;
  /** Where the database hands out numbers of its own, which have to go on behind those carried. */
  readonly counter?: string;
  /** JSON arrays of row numbers in SQLite, arrays in PostgreSQL. */
  readonly numbers?: string;
}

/** Parents before children. */
export const carriedTables: readonly CarriedTable[] = [
  { name: 'sources', key: ['no'], counter: 'no' },
  { name: 'listings', key: ['source_no'] },
  { name: 'sweeps', key: ['source_no'] },
  { name: 'investment_rows', key: ['row_no'], counter: 'row_no' },
  { name: 'awaiting_deletion_rows', key: ['row_no'] },
  { name: 'identity_rows', key: ['row_no'], identity: true },
  { name: 'history_rows', key: ['history_no'], counter: 'history_no' },
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
];

/** What stays behind, with the reason. */
export const leftBehind: Readonly<Record<string, string>> = {
  migrations: 'each database keeps its own',
  leases: 'whoever works a source takes it anew',
  round_rows: 'totals that PostgreSQL adds up when asked',
  day_rows: 'likewise',
  investor_rows: 'likewise',
  beyond_sums: 'likewise',
  identity_residue: 'bytes of the erased may stand in the old file; in the new database they never stood',
};
