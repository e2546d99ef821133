/** One public column, as the data dictionary prints it. */
export interface ColumnEntry {
  readonly name: string;
  readonly type: ColumnType;
  readonly meaning: string;
  /** When the value is null. Absent if it is never null. */
  readonly nullWhen?: string;
}

/** `json` and `time` are stored as text, `flag` and `cents` as integers. */
export type ColumnType = 'text' | 'integer' | 'cents' | 'flag' | 'time' | 'day' | 'decimal' | 'json';

export interface RelationEntry {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly meaning: string;
  readonly columns: readonly ColumnEntry[];
}

export function column(name: string, type: ColumnType, meaning: string, nullWhen?: string): ColumnEntry {
  return nullWhen === undefined ? { name, type, meaning } : { name, type, meaning, nullWhen };
}
