import { Fault } from '../domain/fault.js';
import { type Instant, millisOf, parseInstant } from '../domain/instant.js';
import type { OptionDefinition } from './command.js';
import type { Options } from './options.js';

export const asOfOption: OptionDefinition = {
  flags: '--as-of <time>',
  summary: 'the mirror as it was at this time; a date means the end of that day in UTC',
};

/** Later than every version, even one committed while the clock was ahead: see `CommitTimes` in the store. */
const present = '9999-12-31T23:59:59.999Z' as Instant;

/**
 * Returns the time at which to read the mirror, or nothing without `--as-of`. The current time and any future time
 * select the current state, whatever its versions are dated: a clock that was briefly ahead must not hide rows.
 * Throws `usage` for a value that is not a time.
 */
export function asOf(options: Options, now: number): { readonly asOf?: Instant } {
  const text = options.text('asOf');
  if (text === undefined) return {};
  const moment = parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T23:59:59.999Z` : text);
  if (moment !== undefined) return { asOf: millisOf(moment) < now ? moment : present };
  throw new Fault('usage', `--as-of is ${JSON.stringify(text)}`, {
    hint: 'a day or a time with its zone, such as 2026-03-31 or 2026-03-31T17:00:00Z',
  });
}
