import type { QueryCell } from '../ports/query.js';

/** As PostgreSQL writes a numeric value with decimals, and as decimals are stored; an id may begin with zeros. */
const decimal = /^-?(?:0|[1-9]\d*)\.\d+$/;

/**
 * Returns the number of a cell, or null for anything else. An average of PostgreSQL arrives as exact decimal text, which files
 * of the result keep: a number could not hold all of its digits. A page shows and draws it as the number next to it.
 */
export function queryNumber(cell: QueryCell | undefined): number | bigint | null {
  if (typeof cell === 'number' || typeof cell === 'bigint') return cell;
  return typeof cell === 'string' && decimal.test(cell) ? Number(cell) : null;
}
