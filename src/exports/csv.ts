import { neutral, neutralUnlessNumber, quoted } from './csv-cell.js';
import type { Cell, ExportColumn, RowSource } from './ports.js';

export interface CsvOptions {
  /** Text as it is, formulas included: for programs, not for spreadsheets. */
  readonly raw: boolean;
}

/** RFC 4180 with a header. A missing value is an empty cell, an empty text is `""`. */
export async function* csv({ columns, rows }: RowSource, options: CsvOptions): AsyncGenerator<string> {
  yield line(columns.map(({ name }) => quoted(name)));
  const encoders = columns.map((column) => encoder(column, options));
  for await (const row of rows()) yield line(encoders.map((encode, index) => encode(row[index] ?? null)));
}

function encoder({ kind }: ExportColumn, { raw }: CsvOptions): (cell: Cell) => string {
  const guard = raw ? unguarded : guards[kind];
  return (cell) => {
    if (cell === null) return '';
    if (typeof cell !== 'string') return String(cell);
    return cell === '' ? '""' : quoted(guard(cell));
  };
}

const unguarded = (text: string): string => text;

/** Only what people typed, or might have, can be meant as a formula. */
const guards: Readonly<Record<ExportColumn['kind'], (text: string) => string>> = {
  text: neutral,
  decimal: neutralUnlessNumber,
  ...{ number: unguarded, flag: unguarded, time: unguarded, json: unguarded },
};

function line(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`;
}
