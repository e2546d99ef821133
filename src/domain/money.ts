import type { Brand } from './brand.js';

/**
 * An exact amount in the smallest unit of its currency. JSON numbers beyond 2^53 arrive already rounded, so a value
 * outside the safe range is not an amount and its record goes to quarantine.
 */
export type Cents = Brand<number, 'Cents'>;

export function parseCents(value: unknown): Cents | undefined {
  // `|| 0` turns -0 into 0: SQLite and JSON would write -0 differently.
  return typeof value === 'number' && Number.isSafeInteger(value) ? ((value || 0) as Cents) : undefined;
}

/** A sum of amounts, exact: a bigint where it is beyond 2^53, and a number otherwise. */
export type CentsSum = number | bigint;

export function centsSum(...parts: readonly CentsSum[]): CentsSum {
  const whole = parts.reduce<bigint>((sum, part) => sum + BigInt(part), 0n);
  const number = Number(whole);
  return Number.isSafeInteger(number) ? number : whole;
}

/**
 * Joins the sums of the upper parts and of the lower 32 bits of amounts, which a database can add without overflow or
 * rounding.
 */
export function centsOfHalves(high: number | string, low: number | string): CentsSum {
  return centsSum(BigInt(high) * 2n ** 32n, BigInt(low));
}

/**
 * Returns whole cents in units with two digits after the point, such as `-1234.05`. A division would round amounts of
 * 16 digits. Throws a `RangeError` for a number that is not whole.
 */
export function decimalOfCents(cents: number | bigint): string {
  const whole = BigInt(cents);
  const digits = String(whole < 0n ? -whole : whole).padStart(3, '0');
  return `${whole < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
