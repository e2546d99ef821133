/** One value of a row. Numbers are integers; amounts beyond 2^53 are bigint. */
export type Cell = null | string | number | bigint;

export interface ExportColumn {
  readonly name: string;
  /** `flag` is 0 or 1. `time` (UTC), `decimal` and `json` are stored as text. */
  readonly kind: 'text' | 'number' | 'flag' | 'time' | 'decimal' | 'json';
}

/** Ordered rows, read one by one and never all in memory. */
export interface RowSource {
  readonly columns: readonly ExportColumn[];
  /** Can be read once. Each row has its values in the order of `columns`. Breaking the loop ends the reading. */
  rows(): AsyncIterable<readonly Cell[]>;
}
