import { storableText } from '../../../domain/text.js';
import type { ColumnValue } from '../../record-columns.js';
import {
  identityColumns,
  identityFlags,
  ofPerson,
  recordColumns,
  recordFlags,
} from '../../record-columns.js';

/*
 * Rows are passed to a statement as one JSON parameter, so that each table needs one statement per page and the
 * statement's text does not depend on the size of the page. A row is an array of values in the statement's column order:
 * objects with the column names would be larger and slower to build.
 */

const flags: ReadonlySet<string> = new Set([...recordFlags, ...identityFlags]);

function typeOf(column: string): string {
  if (flags.has(column)) return 'smallint';
  return column.endsWith('_cents') ? 'bigint' : 'text';
}

/** Column types of a record and of its identity, for recordsets that contain them. */
export const recordTypes = recordColumns.map((column) => `${column} ${typeOf(column)}`);
export const personTypes = identityColumns.map((column) => `${ofPerson(column)} ${typeOf(column)}`);

export function recordset(parameter: string, ...types: readonly string[]): string {
  return `(SELECT ${cells('v', types)} FROM jsonb_array_elements(${parameter}::jsonb) AS v) AS t`;
}

/** Returns the SELECT list that extracts a row's columns from its JSON array. Values missing at its end are null. */
export function cells(row: string, types: readonly string[]): string {
  return types
    .map((column, index) => {
      const [name, type] = column.split(' ');
      return `(${row}->>${index})::${type} AS ${name}`;
    })
    .join(', ');
}

export type PayloadRow = readonly (ColumnValue | boolean)[];

/** JSON escapes of characters that PostgreSQL cannot store: NUL and lone surrogates. */
const unstorable = /\\u(?:0000|d[89a-f])/;

export function payloadOf(rows: readonly PayloadRow[]): string {
  return storableJson(rows);
}

export function storableJson(value: unknown): string {
  const text = JSON.stringify(value);
  // The substring search is much faster than the expression, and few pages contain an escape.
  if (!text.includes('\\u') || !unstorable.test(text)) return text;
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' ? storableText(part) : part));
}
