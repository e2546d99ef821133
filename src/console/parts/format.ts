import { type Html, html } from '../../runtime/html.js';

/** Formats numbers and times for people. All times are UTC, as the footer of each page states. */

const grouped = new Intl.NumberFormat('en-US');

export const count = (value: number): string => grouped.format(value);

const moneyFormats = new Map<string, Intl.NumberFormat>();

/** Returns `$1,234.56`; without a known currency, the number alone. */
export function money(cents: number, currency: string | null): string {
  // A sum beyond 2^53 is not exact as a number, so it is marked as approximate.
  return `${Math.abs(cents) > Number.MAX_SAFE_INTEGER ? '≈ ' : ''}${moneyFormat(currency).format(cents / 100)}`;
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

/** Returns `2026-10-20 12:00:03`. */
export function moment(time: string | null): Html {
  if (time === null) return html`<span class="none">never</span>`;
  return html`<time datetime="${time}">${time.slice(0, 19).replace('T', ' ')}</time>`;
}

export function day(time: string | null): string {
  return time === null ? '–' : time.slice(0, 10);
}

/** Returns `4 s ago` or `in 12 min` as of the rendering of the page; the script keeps it up to date. */
export function age(time: string | null, now: number): Html {
  if (time === null) return html`<span class="none">never</span>`;
  if (Number.isNaN(Date.parse(time))) return html`<span class="none">unknown</span>`;
  return html`<time datetime="${time}" title="${time.slice(0, 19).replace('T', ' ')} UTC" data-age>${ageWords(now - Date.parse(time))}</time>`;
}

const steps: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

export function ageWords(millis: number): string {
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
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
