import { Fault } from '../domain/fault.js';
import type { Options } from './options.js';

const unitMillis: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns `90s`, `5m`, `12h`, `2d` or 0 in milliseconds. Throws `usage` for anything else, such as a bare number. */
export function durationOf(options: Options, name: string, usualMillis: number): number {
  const text = options.text(name);
  if (text === undefined) return usualMillis;
  const match = /^(\d{1,6})([smhd])$/.exec(text.trim());
  if (text.trim() === '0') return 0;
  const unit = unitMillis[match?.[2] ?? ''];
  if (match !== null && unit !== undefined) return Number(match[1]) * unit;
  throw new Fault('usage', `--${name} is ${JSON.stringify(text)}`, {
    hint: 'a whole number with its unit, such as 90s, 5m, 12h or 2d',
  });
}
