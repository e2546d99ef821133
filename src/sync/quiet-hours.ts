import { type Instant, instantFromMillis } from '../domain/instant.js';

/** A daily window in which no listing is read. */
export interface QuietHours {
  /** Minutes after midnight; a window whose end is earlier than its start ends on the next day. */
  readonly from: number;
  readonly to: number;
  /** A name of the IANA time zone database, such as `Europe/Berlin`. */
  readonly timeZone: string;
}

const minuteMillis = 60_000;
const dayMinutes = 1_440;

/** Returns when the quiet hours that contain `now` end; null outside of them. */
export function quietUntil(quiet: QuietHours | null, now: number): Instant | null {
  if (quiet === null) return null;
  const minute = minuteOfDay(now, quiet.timeZone);
  const left = (quiet.to - minute + dayMinutes) % dayMinutes;
  const length = (quiet.to - quiet.from + dayMinutes) % dayMinutes;
  if (left === 0 || left > length) return null;
  // Full minutes: the window ends with the minute before `to`.
  const guess = (Math.floor(now / minuteMillis) + left) * minuteMillis;
  return instantFromMillis(afterClockChange(guess, quiet));
}

/** Corrects an end that was computed as if the clocks were not changed before it. */
function afterClockChange(guess: number, { to, timeZone }: QuietHours): number {
  const apart = (to - minuteOfDay(guess, timeZone) + dayMinutes) % dayMinutes;
  if (apart === 0) return guess;
  // Clocks that were set back reach `to` later than the guess, clocks that were set forward earlier.
  const end = guess + (apart < dayMinutes / 2 ? apart : apart - dayMinutes) * minuteMillis;
  if (minuteOfDay(end, timeZone) === to) return end;
  // The clocks skip `to`: the window ends when they are set forward, in the hours before the guess.
  const isAfter = (time: number) =>
    (minuteOfDay(time, timeZone) - to + dayMinutes) % dayMinutes < dayMinutes / 2;
  let skipped = guess;
  while (skipped > end && isAfter(skipped - minuteMillis)) skipped -= minuteMillis;
  return skipped;
}

function minuteOfDay(now: number, timeZone: string): number {
  const text = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(now);
  const [hour = '', minute = ''] = text.split(':');
  return Number(hour) * 60 + Number(minute);
}
