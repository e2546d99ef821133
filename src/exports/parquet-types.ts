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

/**
 * Returns a function that converts a cell of the mirror to a value of the column's type. `onInexact` is called for each
 * decimal that the type cannot hold, which becomes the nearest one of the type, or null. Without it, such a decimal throws
 * `usage`.
 */
export function converterOf(
  column: ExportColumn,
  duckdb: DuckDbPackage,
  onInexact?: () => void,
): (cell: Cell) => DuckDb.DuckDBValue {
  const convert = converters[column.kind];
  return (cell) => (cell === null ? null : convert(cell, column, duckdb, onInexact));
}

type Converter = (
  cell: NonNullable<Cell>,
  column: ExportColumn,
  duckdb: DuckDbPackage,
  onInexact?: () => void,
) => DuckDb.DuckDBValue;

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
  decimal: (cell, column, { DuckDBDecimalValue }, onInexact) => {
    const scaled = scaledOf(String(cell), column, onInexact);
    return scaled === null ? null : new DuckDBDecimalValue(scaled, decimalWidth, decimalScale);
  },
};

/** Returns the number times 10^12. For one with too many digits, calls `onInexact` or throws `usage`. */
function scaledOf(text: string, column: ExportColumn, onInexact?: () => void): bigint | null {
  const match = /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(text);
  const [, sign = '', whole = '', fraction = ''] = match ?? [];
  const isTooLarge = match === null || whole.length > decimalWidth - decimalScale;
  if (isTooLarge || fraction.length > decimalScale) {
    if (onInexact === undefined) throw unfit(column, text, `does not fit ${columnTypes.decimal}`);
    onInexact();
  }
  if (isTooLarge) return null;
  const rounded = BigInt(`${whole}${fraction.slice(0, decimalScale).padEnd(decimalScale, '0')}`);
  const nearest = (fraction[decimalScale] ?? '0') >= '5' ? rounded + 1n : rounded;
  // One above the largest number of the type.
  if (nearest >= 10n ** BigInt(decimalWidth)) return null;
  return sign === '-' ? -nearest : nearest;
}

function unfit({ name }: ExportColumn, cell: Cell, why: string): Fault {
  return new Fault('usage', `the value ${String(cell)} of ${name} ${why}; no file was written`, {
    hint: '--format csv or jsonl, which write the value unchanged',
  });
}
