import type { Brand } from './brand.js';

/**
 * A UTC timestamp whose text order is its time order: `2026-10-20T09:30:04.000Z`. SQL sorts and compares these as
 * text, including the mirror's own times, so all have one width with exactly three fractional digits. Finer fractions
 * are truncated, not rounded: a stored position is then never later than the platform's, and nothing is skipped.
 */
export type Instant = Brand<string, 'Instant'>;

const shape = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):?(\d\d))$/;

/**
 * The form the platform sends, on days that every month has: nothing to convert or check. Two of these are in every
 * record, so this fast path matters.
 */
const plainShape =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?Z$/;

export function parseInstant(value: unknown): Instant | undefined {
  if (typeof value !== 'string') return undefined;
  if (plainShape.test(value)) return (value.length === 24 ? value : `${value.slice(0, 19)}.000Z`) as Instant;
  const match = shape.exec(value);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHours, offsetMinutes] = match;
  const whole = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  // Date.parse turns 31 February into a day in March; a day that does not exist is not a time.
  if (Number.isNaN(whole) || new Date(whole).getUTCDate() !== Number(day)) return undefined;
  const offset = sign === undefined ? 0 : (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000;
  const utc = new Date(sign === '-' ? whole + offset : whole - offset);
  if (utc.getUTCFullYear() < 0 || utc.getUTCFullYear() > 9999) return undefined;
  return `${utc.toISOString().slice(0, 19)}.${fraction.slice(0, 3).padEnd(3, '0')}Z` as Instant;
}

export function instantFromMillis(millis: number): Instant {
  return new Date(millis).toISOString() as Instant;
}

export function millisOf(instant: Instant): number {
  return Date.parse(instant);
}

export function justBefore(instant: Instant): Instant {
  return instantFromMillis(millisOf(instant) - 1);
}
