import type * as DuckDb from '@duckdb/node-api';
import { Fault } from '../domain/fault.js';
import { type Instant, millisOf } from '../domain/instant.js';
import type { Cell, ExportColumn } from './ports.js';

export type DuckDbPackage = typeof DuckDb;

/** 26 digits before the point and 12 after it: share counts must be exact, so they are not binary fractions. */
const decimalWidth = 38;
const decimalScale = 12;

export const columnTypes: Readonly<Record<ExportColumn['kind'], string>> = {
  text: 'VARCHAR',
  json: 'VARCHAR',
  number: 'BIGINT',
  real: 'DOUBLE',
  flag: 'BOOLEAN',
  // With a time zone, so that readers know the time is UTC.
  time: 'TIMESTAMPTZ',
  decimal: `DECIMAL(${decimalWidth},${decimalScale})`,
};

/** Returns a function that converts a cell of the mirror to a value of the column's type. */
export function converterOf(column: ExportColumn, duckdb: DuckDbPackage): (cell: Cell) => DuckDb.DuckDBValue {
  const convert = converters[column.kind];
  return (cell) => (cell === null ? null : convert(cell, column, duckdb));
}

type Converter = (cell: NonNullable<Cell>, column: ExportColumn, duckdb: DuckDbPackage) => DuckDb.DuckDBValue;

const converters: Readonly<Record<ExportColumn['kind'], Converter>> = {
  text: String,
  json: String,
  number: (cell) => BigInt(cell),
  real: Number,
  flag: (cell) => Number(cell) === 1,
  time: (cell, column, { DuckDBTimestampTZValue }) => {
    const millis = millisOf(String(cell) as Instant);
    if (Number.isNaN(millis)) throw unfit(column, cell, 'is not a time');
    return new DuckDBTimestampTZValue(BigInt(millis) * 1_000n);
  },
  decimal: (cell, column, { DuckDBDecimalValue }) =>
    new DuckDBDecimalValue(scaled(String(cell), column), decimalWidth, decimalScale),
};

/** Returns the number times 10^12. Throws `usage` when it has too many digits, instead of dropping some. */
function scaled(text: string, column: ExportColumn): bigint {
  const match = /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(text);
  const [, sign = '', whole = '', fraction = ''] = match ?? [];
  if (match === null || whole.length > decimalWidth - decimalScale || fraction.length > decimalScale)
    throw unfit(column, text, `does not fit ${columnTypes.decimal}`);
  return BigInt(`${sign}${whole}${fraction.padEnd(decimalScale, '0')}`);
}

function unfit({ name }: ExportColumn, cell: Cell, why: string): Fault {
  return new Fault('usage', `the value ${String(cell)} of ${name} ${why}; no file was written`, {
    hint: '--format csv or jsonl, which write the value unchanged',
  });
}
