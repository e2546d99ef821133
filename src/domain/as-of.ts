import { Fault } from './fault.js';
import { type Instant, millisOf, parseInstant } from './instant.js';

/** Later than every version, even one committed while the clock was ahead: see `CommitTimes` in the store. */
export const presentState = '9999-12-31T23:59:59.999Z' as Instant;

const dayShape = /^\d{4}-\d\d-\d\d$/;
const minuteShape = /^(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d)([Zz]|[+-]\d\d:?\d\d)$/;

/** Returns the time of a text: a day such as `2026-03-31` is its last millisecond in UTC. Seconds may be left out. */
export function asOfTime(text: string): Instant | undefined {
  return parseInstant(dayShape.test(text) ? `${text}T23:59:59.999Z` : text.replace(minuteShape, '$1:00$2'));
}

export const asOfHint = 'a day or a time with its zone, such as 2026-03-31 or 2026-03-31T17:00:00Z';

/**
 * Returns the past time at which to read the mirror. The day that is not over yet selects the present state. Throws
 * `usage` for a text that is not a time and for a later time. `name`: where the text was given.
 */
export function pastTime(text: string, name: string, now: number): Instant {
  const time = asOfTime(text);
  if (time === undefined) throw new Fault('usage', `${name} is ${JSON.stringify(text)}`, { hint: asOfHint });
  if (millisOf(time) <= now) return time;
  const begins = dayShape.test(text) ? Date.parse(`${text}T00:00:00.000Z`) : millisOf(time);
  if (begins <= now) return presentState;
  throw new Fault('usage', `${name} is in the future: ${JSON.stringify(text)}`, {
    hint: 'A mirror has no future state. Leave it out to read the present one.',
  });
}
