import type Sqlite from 'better-sqlite3';
import { type CopyValue, copyLine, numbersToArray } from './copy-text.js';
import type { MigratedTable } from './migrated-tables.js';

const lettersAtOnce = 64 * 1024;

export function columnsOf(raw: Sqlite.Database, { name }: Pick<MigratedTable, 'name'>): readonly string[] {
  return raw.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(name);
}

/** Returns the rows of a table in COPY text format and in the order of its key, several lines per chunk. */
export function* tableLines(
  raw: Sqlite.Database,
  table: MigratedTable,
  columns: readonly string[] = columnsOf(raw, table),
): Generator<string> {
  const { name, key, numbers } = table;
  const rows = raw
    .prepare<[], CopyValue[]>(`SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${key.join(', ')}`)
    .raw()
    .safeIntegers()
    .iterate();
  const array = numbers === undefined ? -1 : columns.indexOf(numbers);
  let text = '';
  for (const row of rows) {
    if (array !== -1) row[array] = numbersToArray(row[array] ?? null);
    text += copyLine(row);
    if (text.length < lettersAtOnce) continue;
    yield text;
    text = '';
  }
  if (text !== '') yield text;
}
