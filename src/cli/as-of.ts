import { asOfHint, asOfTime, pastTime, presentState } from '../domain/as-of.js';
import { Fault } from '../domain/fault.js';
import { type Instant, millisOf } from '../domain/instant.js';
import type { OptionDefinition } from './command.js';
import type { Options } from './options.js';

export const asOfOption: OptionDefinition = {
  flags: '--as-of <time>',
  summary: 'the mirror as it was at this time; a date means the end of that day in UTC',
};

/**
 * Returns the time at which to read the mirror, or nothing without `--as-of`. The current time and any future time
 * select the current state, whatever its versions are dated: a clock that was briefly ahead must not hide rows.
 * Throws `usage` for a value that is not a time.
 */
export function asOf(options: Options, now: number): { readonly asOf?: Instant } {
  const text = options.text('asOf');
  if (text === undefined) return {};
  const moment = asOfTime(text);
  if (moment !== undefined) return { asOf: millisOf(moment) < now ? moment : presentState };
  throw new Fault('usage', `--as-of is ${JSON.stringify(text)}`, { hint: asOfHint });
}

/** Like `asOf`, but throws `usage` for a time in the future, too. */
export function asOfPast(options: Options, now: number): { readonly asOf?: Instant } {
  const text = options.text('asOf');
  return text === undefined ? {} : { asOf: pastTime(text, '--as-of', now) };
}
