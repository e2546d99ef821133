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
