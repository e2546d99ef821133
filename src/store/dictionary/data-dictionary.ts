import type { ColumnType } from './column.js';
import { publicRelations } from './relations.js';

/** One row of the table `data_dictionary`. Position 0 describes the relation, the others its columns in order. */
export interface DictionaryRow {
  readonly relation: string;
  readonly position: number;
  readonly column_name: string | null;
  readonly type: ColumnType | 'table' | 'view';
  readonly meaning: string;
  readonly null_when: string | null;
}

/** The public relations and their columns as rows, in the order of the primary key. */
export const dictionaryRows: readonly DictionaryRow[] = publicRelations
  .flatMap(({ name, kind, meaning, columns }): DictionaryRow[] => [
    { relation: name, position: 0, column_name: null, type: kind, meaning: plain(meaning), null_when: null },
    ...columns.map((entry, at) => ({
      relation: name,
      position: at + 1,
      column_name: entry.name,
      type: entry.type,
      meaning: plain(entry.meaning),
      null_when: entry.nullWhen === undefined ? null : plain(entry.nullWhen),
    })),
  ])
  .sort((one, other) =>
    one.relation === other.relation ? one.position - other.position : one.relation < other.relation ? -1 : 1,
  );

/** The same rows by relation, in the order of the dictionary's page. */
export const dictionaryRelations = publicRelations.map(({ name, meaning, columns }) => ({
  name,
  meaning: plain(meaning),
  columns: columns.map((entry) => ({
    name: entry.name,
    type: entry.type,
    meaning: plain(entry.meaning),
    null_when: entry.nullWhen === undefined ? null : plain(entry.nullWhen),
  })),
}));

/** Returns the text without Markdown backticks. */
export function plain(text: string): string {
  return text.replaceAll('`', '');
}
