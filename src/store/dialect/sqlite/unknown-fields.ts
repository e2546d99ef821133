import type Sqlite from 'better-sqlite3';
import { moneyViewName, moneyViews } from '../../dictionary/typed-views.js';
import { moneySelect } from './described-schema.js';

/**
 * Unknown fields (`extra`) came with a person and may name one. While names are masked, these views show them as null.
 * `hiddenColumns` refuses statements that read them in another way.
 */
const viewsOfPeople = ['investments', 'investment_history', 'incoming', 'changes'] as const;

/** Names a view that stands for a stored one below the views of a past time. */
export const belowName = (relation: string): string =>
  viewsOfPeople.some((name) => name === relation)
    ? `temp."without unknown fields: ${relation}"`
    : `main.${relation}`;

/**
 * Hides the stored views behind temporary ones without unknown fields. `below`: for a past time, they are made under
 * `belowName`, for the views of that time. A temporary view belongs to this connection, which stays read-only for the file.
 */
export function hideUnknownFields(raw: Sqlite.Database, below: boolean): void {
  raw.pragma('query_only = OFF');
  const columns = raw
    .prepare<[], string>(
      "SELECT name FROM pragma_table_info('investment_rows', 'main') WHERE name <> 'extra'",
    )
    .pluck()
    .all();
  const stored = raw
    .prepare<[string], string>("SELECT sql FROM main.sqlite_schema WHERE type = 'view' AND name = ?")
    .pluck();
  for (const name of viewsOfPeople) {
    const select = withoutExtra(stored.get(name) ?? '', columns);
    raw.exec(`CREATE TEMP VIEW ${below ? belowName(name).replace('temp.', '') : name} AS ${select}`);
  }
  if (!below)
    for (const view of moneyViews)
      if (viewsOfPeople.some((name) => name === view.name))
        raw.exec(`CREATE TEMP VIEW ${moneyViewName(view.name)} AS ${moneySelect(view, `temp.${view.name}`)}`);
  raw.pragma('query_only = ON');
}

/** Returns the SELECT of a view with null for each unknown field. A definition that it misses is refused, not shown. */
function withoutExtra(sql: string, columns: readonly string[]): string {
  return (
    sql
      .replace(/^CREATE VIEW \w+ AS\s/i, '')
      .replaceAll(/\bcoalesce\(\w+\.extra, 'null'\)/g, "'null'")
      .replaceAll(/\b\w+\.extra\b/g, 'NULL AS extra')
      .replaceAll(/\bn\.\*/g, columns.map((column) => `n.${column}`).join(', '))
      // The views of a past time have names of stored relations too. These views read tables only.
      .replaceAll(/\b(FROM|JOIN) (?=[a-z]+(?:_[a-z]+)*\b [a-z]\b)/g, '$1 main.')
  );
}
