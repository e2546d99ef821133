/** One value of a row. Numbers are integers; amounts beyond 2^53 are bigint. */
export type Cell = null | string | number | bigint;

export interface ExportColumn {
  readonly name: string;
  /** `flag` is 0 or 1. `time` (UTC), `decimal` and `json` are stored as text. `real` is a binary fraction. */
  readonly kind: 'text' | 'number' | 'real' | 'flag' | 'time' | 'decimal' | 'json';
}

/** Ordered rows, read one by one and never all in memory. */
export interface RowSource {
  readonly columns: readonly ExportColumn[];
  /** Can be read once. Each row has its values in the order of `columns`. Breaking the loop ends the reading. */
  rows(): AsyncIterable<readonly Cell[]>;
}

/** One source at the moment that a lake reads. */
export interface LakeSource {
  readonly source: string;
  /** When its first listing was complete. */
  readonly listed_at: string;
  /** Until when its rows are complete; null when that is not known. */
  readonly complete_up_to: string | null;
  /** End of its last superseded version, purged or not; empty before the first. */
  readonly history_to: string;
  readonly rows: number;
  /** Exact sums of the amounts, as text. */
  readonly sums: Readonly<Record<string, string>>;
}

/** How far a lake has read the change feed, and by what it recognizes the same feed again. */
export interface LakePosition {
  readonly change_seq: number;
  readonly change_mark: string;
  /** Differs after every erasure. */
  readonly erasure_mark: string;
  readonly sources: readonly LakeSource[];
}

/** What a lake reads, all of it from one state of the mirror. One stream at a time. */
export interface LakeMirror {
  readonly position: LakePosition;
  /** Columns of `investments` that a lake stores: neither identity nor the names of companies and rounds. */
  readonly investmentColumns: readonly ExportColumn[];
  investments(): RowSource;
  companies(): RowSource;
  rounds(): RowSource;
  /** The people: `source`, `id` and the columns of identity, for rows that have any. */
  identities(): RowSource;
  /** Whether this mirror continues the one that was read at `since`, so that its changes are all that differs. */
  continues(since: LakePosition): Promise<boolean>;
  /** `source` and `id` of every investment that may differ from `since`. */
  touched(since: LakePosition): RowSource;
  /** Those of them that exist, as `investments` has them. */
  changed(since: LakePosition): RowSource;
}
