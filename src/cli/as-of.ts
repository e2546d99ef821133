import { Fault } from '../domain/fault.js';
import { type Instant, millisOf, parseInstant } from '../domain/instant.js';
import type { OptionDefinition } from './command.js';
import type { Options } from './options.js';

export const asOfOption: OptionDefinition = {
  flags: '--as-of <time>',
  summary: 'as a reader of the mirror saw it then; a day means its last moment in UTC',
};

/** After every version, also one that a clock dated ahead: see `CommitTimes` in the store. */
const present = '9999-12-31T23:59:59.999Z' as Instant;

/**
 * The moment to read the mirror at. Now, or a time still to come, is the present state, whatever its versions are
 * dated: a clock that was ahead for a moment must not hide it. Throws `usage` for what is no time.
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
