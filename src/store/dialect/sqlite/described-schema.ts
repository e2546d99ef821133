import type Sqlite from 'better-sqlite3';
import { type DictionaryRow, dictionaryRows } from '../../dictionary/data-dictionary.js';
import { moneyName, moneyViewName, moneyViews, type TypedView } from '../../dictionary/typed-views.js';
import { inTransaction } from './transaction.js';

/** Fills `data_dictionary` and creates the views with amounts in whole units. Writes only what differs. */
export function describeSqlite(raw: Sqlite.Database): void {
  if (isDescribed(raw)) return;
  inTransaction(raw, () => {
    // Another process may have done it while this one waited for the lock.
    if (isDescribed(raw)) return;
    raw.exec('DELETE FROM data_dictionary');
    const insert = raw.prepare(
      `INSERT INTO data_dictionary (relation, position, column_name, type, meaning, null_when)
       VALUES (:relation, :position, :column_name, :type, :meaning, :null_when)`,
    );
    for (const row of dictionaryRows) insert.run(row);
    for (const { name } of storedViews(raw)) raw.exec(`DROP VIEW ${name}`);
    for (const sql of wantedViews) raw.exec(sql);
  });
}

function isDescribed(raw: Sqlite.Database): boolean {
  const stored = raw
    .prepare<[], DictionaryRow>('SELECT * FROM data_dictionary ORDER BY relation, position')
    .all();
  return (
    JSON.stringify(stored) === JSON.stringify(dictionaryRows) &&
    JSON.stringify(storedViews(raw).map(({ sql }) => sql)) === JSON.stringify(wantedViews)
  );
}

function storedViews(raw: Sqlite.Database): readonly { readonly name: string; readonly sql: string }[] {
  return raw
    .prepare<[], { name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'view' AND name LIKE 'analytics\\_%' ESCAPE '\\' ORDER BY name",
    )
    .all();
}

const wantedViews: readonly string[] = [...moneyViews]
  .sort((one, other) => (one.name < other.name ? -1 : 1))
  .map(viewSql);

function viewSql(view: TypedView): string {
  return `CREATE VIEW ${moneyViewName(view.name)} AS ${moneySelect(view, view.name)}`;
}

/** Returns the SELECT of a view with amounts in whole units, over the relation `from`. */
export function moneySelect({ columns }: TypedView, from: string): string {
  const selected = columns.flatMap(({ name: column, type }) =>
    type === 'cents' ? [column, `${column} / 100.0 AS ${moneyName(column)}`] : [column],
  );
  return `SELECT ${selected.join(', ')} FROM ${from}`;
}
