/** One value of a row. Numbers are integers here; amounts beyond 2^53 come as bigint. */
export type Cell = null | string | number | bigint;

export interface ExportColumn {
  readonly name: string;
  /** `decimal` is a number kept as text, `json` is JSON kept as text. */
  readonly kind: 'text' | 'number' | 'decimal' | 'json';
}

/** Rows in an order of their own, read one after the other: never all in memory. */
export interface RowSource {
  readonly columns: readonly ExportColumn[];
  /** To be read once; each row has its values in the order of `columns`. Leaving early ends the reading. */
  rows(): AsyncIterable<readonly Cell[]>;
}
