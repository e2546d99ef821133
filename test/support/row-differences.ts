import type Sqlite from 'better-sqlite3';
import { type Fields, type Kind, singleValue } from './row-calls.js';

/** A column of a statement's result, as a database describes it. */
export interface ResultColumn {
  readonly name: string;
  /** Undefined when the database does not know before the statement runs. */
  readonly kind: Kind | undefined;
  readonly mayBeNull: boolean;
}

/** Returns every difference between the columns of a statement and the declared fields. */
export function differences(sql: string, columns: readonly ResultColumn[], fields: Fields): string[] {
  const single = fields.get(singleValue);
  if (single !== undefined) return columns.slice(0, 1).flatMap((column) => kindDifferences(column, single));
  const selected = new Set(columns.map(({ name }) => name));
  const missing = [...fields.keys()].filter((name) => !selected.has(name));
  const star = /SELECT (DISTINCT )?(\w+\.)?\*/.test(sql);
  return [
    ...missing.map((name) => `${name} is not selected`),
    ...columns.flatMap((column) => {
      const kinds = fields.get(column.name);
      if (kinds !== undefined) return kindDifferences(column, kinds);
      return star ? [] : [`${column.name} is selected but not declared`];
    }),
  ];
}

function kindDifferences({ name, kind, mayBeNull }: ResultColumn, kinds: ReadonlySet<Kind>): string[] {
  if (kinds.has('any') || kind === undefined) return [];
  return [
    ...(kinds.has(kind) ? [] : [`${name} is ${kind}, declared as ${[...kinds].join(' | ')}`]),
    ...(mayBeNull && !kinds.has('null') ? [`${name} may be NULL`] : []),
  ];
}

const kindOfType: Readonly<Record<string, Kind>> = {
  TEXT: 'text',
  INTEGER: 'number',
  REAL: 'number',
  BLOB: 'blob',
};

interface TableColumn {
  readonly name: string;
  readonly notnull: number;
  readonly pk: number;
}

/** Returns the columns of a statement on SQLite. Throws when it cannot be prepared. Only columns of tables have a kind. */
export function sqliteColumns(database: Sqlite.Database, sql: string): ResultColumn[] {
  const mayBeNull = (table: string, column: string): boolean =>
    (database.pragma(`table_info("${table}")`) as readonly TableColumn[]).some(
      ({ name, notnull, pk }) => name === column && notnull === 0 && pk === 0,
    );
  return database
    .prepare(sql)
    .columns()
    .map(({ name, type, table, column }) => ({
      name,
      kind: kindOfType[type ?? ''],
      mayBeNull: table !== null && column !== null && mayBeNull(table, column),
    }));
}
