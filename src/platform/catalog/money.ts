import { type CentsSum, decimalOfCents } from '../../domain/money.js';

/** Formats integer cents as decimal dollars. The cents are the exact value. */
export const dollarsOf = (cents: CentsSum): string => decimalOfCents(cents);

export const dollarsOrNull = (cents: CentsSum | null): string | null =>
  cents === null ? null : dollarsOf(cents);

/** Parses validated decimal dollars with at most two decimals: `99.5` is 9950. */
export function centsOf(dollars: string): number {
  const [whole = '0', fraction = ''] = dollars.split('.');
  return Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
}
