import type * as DuckDb from '@duckdb/node-api';
import { Fault } from '../domain/fault.js';
import { type Instant, millisOf } from '../domain/instant.js';
import type { Cell, ExportColumn } from './ports.js';

export type DuckDbPackage = typeof DuckDb;

/** 26 digits before the point and 12 behind it, exactly: a share count is no place for binary fractions. */
const decimalWidth = 38;
const decimalScale = 12;

export const columnTypes: Readonly<Record<ExportColumn['kind'], string>> = {
  text: 'VARCHAR',
  json: 'VARCHAR',
  number: 'BIGINT',
  flag: 'BOOLEAN',
  // A moment, not a reading of a clock on the wall: readers know that it is UTC.
  time: 'TIMESTAMPTZ',
  decimal: `DECIMAL(${decimalWidth},${decimalScale})`,
};

/** From a cell as the mirror holds it to a value of the column's type. */
export function converterOf(column: ExportColumn, duckdb: DuckDbPackage): (cell: Cell) => DuckDb.DuckDBValue {
  const convert = converters[column.kind];
  return (cell) => (cell === null ? null : convert(cell, column, duckdb));
}

type Converter = (cell: NonNullable<Cell>, column: ExportColumn, duckdb: DuckDbPackage) => DuckDb.DuckDBValue;

const converters: Readonly<Record<ExportColumn['kind'], Converter>> = {
  text: String,
  json: String,
  number: (cell) => BigInt(cell),
  flag: (cell) => Number(cell) === 1,
  time: (cell, column, { DuckDBTimestampTZValue }) => {
    const millis = millisOf(String(cell) as Instant);
    if (Number.isNaN(millis)) throw unfit(column, cell, 'is no time');
    return new DuckDBTimestampTZValue(BigInt(millis) * 1_000n);
  },
  decimal: (cell, column, { DuckDBDecimalValue }) =>
    new DuckDBDecimalValue(scaled(String(cell), column), decimalWidth, decimalScale),
};

/** The number times 10^12, or a fault: a digit is never dropped in silence. */
function scaled(text: string, column: ExportColumn): bigint {
  const match = /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(text);
  const [, sign = '', whole = '', fraction = ''] = match ?? [];
  if (match === null || whole.length > decimalWidth - decimalScale || fraction.length > decimalScale)
    throw unfit(column, text, `does not fit ${columnTypes.decimal}`);
  return BigInt(`${sign}${whole}${fraction.padEnd(decimalScale, '0')}`);
}

function unfit({ name }: ExportColumn, cell: Cell, why: string): Fault {
  return new Fault('usage', `the value ${String(cell)} of ${name} ${why}; no file was written`, {
    hint: '--format csv or jsonl, which write it as it is',
  });
}
