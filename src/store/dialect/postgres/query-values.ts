import pg from 'pg';
import type { SqlValue } from '../port.js';

const { builtins } = pg.types;
const whole: ReadonlySet<number> = new Set([builtins.INT2, builtins.INT4, builtins.INT8, builtins.OID]);
const real: ReadonlySet<number> = new Set([builtins.FLOAT4, builtins.FLOAT8]);

/** Returns values as SQLite does: integers exactly, booleans as 1 and 0, bytes as bytes, everything else as text. */
export function parserOf(oid: number): (text: string) => SqlValue {
  if (whole.has(oid)) return exact;
  if (real.has(oid)) return Number;
  if (oid === builtins.NUMERIC) return numeric;
  if (oid === builtins.BOOL) return (text) => (text === 't' ? 1 : 0);
  if (oid === builtins.BYTEA) return (text) => Buffer.from(text.slice(2), 'hex');
  return (text) => text;
}

const exact = (text: string): SqlValue => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text));

/** Returns a number if JavaScript can represent the decimal exactly, and otherwise its text. */
function numeric(text: string): SqlValue {
  if (/^-?\d+$/.test(text)) return exact(text);
  const short = text.replace(/\.?0+$/, '');
  if (/^-?\d+$/.test(short)) return exact(short);
  return String(Number(short)) === short ? Number(short) : text;
}
