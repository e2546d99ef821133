import { neutral, neutralUnlessNumber, quoted } from './csv-cell.js';
import type { Cell, ExportColumn, RowSource } from './ports.js';

export interface CsvOptions {
  /** Leaves formulas unescaped: for programs, not for spreadsheets. */
  readonly raw: boolean;
}

/** Yields CSV as in RFC 4180, with a header. A null is an empty cell, an empty text is `""`. */
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

/** Only columns with text that people may have typed can contain a formula. */
const guards: Readonly<Record<ExportColumn['kind'], (text: string) => string>> = {
  text: neutral,
  decimal: neutralUnlessNumber,
  number: unguarded,
  real: unguarded,
  flag: unguarded,
  time: unguarded,
  json: unguarded,
};

function line(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`;
}
