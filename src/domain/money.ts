import type { Brand } from './brand.js';

/**
 * An exact amount in the smallest unit of its currency. JSON numbers beyond 2^53 arrive already rounded,
 * so anything outside the safe range is not an amount: the record goes to quarantine instead.
 */
export type Cents = Brand<number, 'Cents'>;

export function parseCents(value: unknown): Cents | undefined {
  // `|| 0` folds -0, which SQLite and JSON would write in two different ways.
  return typeof value === 'number' && Number.isSafeInteger(value) ? ((value || 0) as Cents) : undefined;
}
