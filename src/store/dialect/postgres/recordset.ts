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
 * Rows travel to a statement as one JSON value, however many they are: one statement a page and table, and one
 * text of it, whatever the size of the page. A row is an array, its values in the order of the columns the statement
 * names: an object of forty names, made for each record, took two thirds of the time a page takes on our side, and
 * twice the bytes on the way.
 */

const flags: ReadonlySet<string> = new Set([...recordFlags, ...identityFlags]);

function typeOf(column: string): string {
  if (flags.has(column)) return 'smallint';
  return column.endsWith('_cents') ? 'bigint' : 'text';
}

/** What a recordset may hold beside its own columns: a record, and the person of it. */
export const recordTypes = recordColumns.map((column) => `${column} ${typeOf(column)}`);
export const personTypes = identityColumns.map((column) => `${ofPerson(column)} ${typeOf(column)}`);

export function recordset(parameter: string, ...types: readonly string[]): string {
  return `(SELECT ${cells('v', types)} FROM jsonb_array_elements(${parameter}::jsonb) AS v) AS t`;
}

/** The columns of one row, given as its JSON; each is taken out where it is used. A row may end early: nulls. */
export function cells(row: string, types: readonly string[]): string {
  return types
    .map((column, index) => {
      const [name, type] = column.split(' ');
      return `(${row}->>${index})::${type} AS ${name}`;
    })
    .join(', ');
}

export type PayloadRow = readonly (ColumnValue | boolean)[];

/** What JSON may escape and PostgreSQL cannot hold: NUL, and halves of a pair. */
const unstorable = /\\u(?:0000|d[89a-f])/;

export function payloadOf(rows: readonly PayloadRow[]): string {
  return storableJson(rows);
}

export function storableJson(value: unknown): string {
  const text = JSON.stringify(value);
  // Looking for a backslash first is thirty times as quick, and hardly a page has one.
  if (!text.includes('\\u') || !unstorable.test(text)) return text;
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' ? storableText(part) : part));
}
