/** One value of a row. Numbers are integers here; amounts beyond 2^53 come as bigint. */
export type Cell = null | string | number | bigint;

export interface ExportColumn {
  readonly name: string;
  /** `flag` is 0 or 1; `time` is UTC, `decimal` a number and `json` JSON, each kept as text. */
  readonly kind: 'text' | 'number' | 'flag' | 'time' | 'decimal' | 'json';
}

/** Rows in an order of their own, read one after the other: never all in memory. */
export interface RowSource {
  readonly columns: readonly ExportColumn[];
  /** To be read once; each row has its values in the order of `columns`. Leaving early ends the reading. */
  rows(): AsyncIterable<readonly Cell[]>;
}
