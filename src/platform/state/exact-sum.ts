import { type CentsSum, centsOfHalves } from '../../domain/money.js';

/**
 * SQL for the sum of amounts, which `centsOfSum` reads: the sums of their upper parts and of their lower 32 bits, in one
 * text. `sum()` of SQLite is an error beyond 64 bits, and JavaScript rounds a number beyond 2^53.
 */
export const exactSum = (cents: string): string =>
  `(coalesce(sum(${cents} >> 32), 0) || ' ' || coalesce(sum(${cents} & 4294967295), 0))`;

export function centsOfSum(text: string): CentsSum {
  const [high = '0', low = '0'] = text.split(' ');
  return centsOfHalves(high, low);
}
