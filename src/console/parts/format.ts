import { decimalOfCents } from '../../domain/money.js';
import { type Html, html } from '../../runtime/html.js';

/**
 * Formats numbers and times for people. Pages have times in UTC; the script shows them in the reader's time zone, with
 * UTC in the title, and the footer says which.
 */

const grouped = new Intl.NumberFormat('en-US');

export const count = (value: number | bigint): string => grouped.format(value);

const moneyFormats = new Map<string, Intl.NumberFormat>();

/** The totals of a mirror stop there, as their columns have 64 bits: what is added up from them may be any amount beyond. */
const totalMax = 2n ** 63n - 1n;

/** Returns `$1,234.56`; without a known currency, the number alone. An average need not be whole cents. */
export function money(cents: number | bigint, currency: string | null): string {
  if (typeof cents === 'number' && Math.abs(cents) >= Number(totalMax))
    return cents > 0 ? `≥ ${money(totalMax, currency)}` : `≤ ${money(-totalMax, currency)}`;
  const isWhole = typeof cents === 'bigint' || Number.isInteger(cents);
  // The format takes the digits of a text as they are.
  const units = isWhole ? (decimalOfCents(cents) as `${number}`) : cents / 100;
  // A sum beyond 2^53 is not exact as a number, so it is marked as approximate.
  const isExact = typeof cents === 'bigint' || Math.abs(cents) <= Number.MAX_SAFE_INTEGER;
  return `${isExact ? '' : '≈ '}${moneyFormat(currency).format(units)}`;
}

/** Returns the code in upper case (the platform sends `usd`), or an empty text when it is not a currency code. */
export const currencyCode = (currency: string | null): string =>
  currency !== null && /^[A-Za-z]{3}$/.test(currency) ? currency.toUpperCase() : '';

function moneyFormat(currency: string | null): Intl.NumberFormat {
  const code = currencyCode(currency);
  let format = moneyFormats.get(code);
  if (format === undefined) {
    format = new Intl.NumberFormat('en-US', {
      ...(code === '' ? {} : { style: 'currency', currency: code, currencyDisplay: 'narrowSymbol' }),
      minimumFractionDigits: 2,
      maximumFractionDigits: 2,
    });
    moneyFormats.set(code, format);
  }
  return format;
}

export const moneyOrNothing = (cents: number | null, currency: string | null): string =>
  cents === null ? '–' : money(cents, currency);

const toSeconds = (time: string): string => time.slice(0, 19).replace('T', ' ');

/** A time in one of the forms that the script knows. */
const timeAs = (form: 'moment' | 'zoned' | 'day' | 'clock' | 'age', time: string, text: string): Html =>
  html`<time datetime="${time}" title="${toSeconds(time)} UTC" data-form="${form}">${text}</time>`;

/** Returns `2026-10-20 12:00:03`. */
export const moment = (time: string | null): Html =>
  time === null ? html`<span class="none">never</span>` : timeAs('moment', time, toSeconds(time));

/** Returns `2026-10-20 12:00:03 UTC`, for a sentence. */
export const zonedMoment = (time: string): Html => timeAs('zoned', time, `${toSeconds(time)} UTC`);

/** Returns the day of a time. */
export const day = (time: string | null): Html | string =>
  time === null ? '–' : timeAs('day', time, time.slice(0, 10));

/** Returns `12:00` of a time that is less than a day away. */
export const clockTime = (time: string): Html => timeAs('clock', time, time.slice(11, 16));

/** Returns `4 s ago` or `in 12 min` as of the rendering of the page; the script keeps it up to date. */
export function age(time: string | null, now: number): Html {
  if (time === null) return html`<span class="none">never</span>`;
  if (Number.isNaN(Date.parse(time))) return html`<span class="none">unknown</span>`;
  return timeAs('age', time, ageWords(now - Date.parse(time)));
}

const steps: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

function ageWords(millis: number): string {
  const size = Math.abs(millis);
  const [unit, name] = steps.find(([step]) => size >= step * 2 || step === 1_000) ?? [1_000, 's'];
  const amount = Math.floor(size / unit);
  if (amount < 1) return 'just now';
  return millis < 0 ? `in ${count(amount)} ${name}` : `${count(amount)} ${name} ago`;
}

export function duration(millis: number): string {
  return millis < 1_000 ? `${millis} ms` : `${(millis / 1_000).toFixed(1)} s`;
}

/** `1 row`, `2,000 rows`. */
export const counted = (value: number, one: string): string =>
  `${count(value)} ${one}${value === 1 ? '' : 's'}`;
