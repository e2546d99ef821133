import { decimalOfCents } from '../../domain/money.js';

/** Formats an amount for a page. */
export function written(cents: number, currency: string): string {
  return new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency: currency.toUpperCase(),
    ...(cents % 100 === 0 ? { maximumFractionDigits: 0 } : {}),
    // The format takes the digits of a text as they are.
  }).format(decimalOfCents(cents) as `${number}`);
}

/** Parses a typed amount: `2500`, `2,500`, `2500.50`. Returns null for anything else or an amount below the minimum. */
export function centsFrom(text: string): number | null {
  const match = /^(\d{1,9})(?:\.(\d{1,2}))?$/.exec(text.replaceAll(/[,\s$€]/g, ''));
  if (match === null) return null;
  const cents = Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'));
  return cents >= 100 ? cents : null;
}
