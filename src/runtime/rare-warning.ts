import type { Clock } from './clock.js';
import type { LogFields, Logger } from './logger.js';

/** A failure that comes back with each attempt is a warning once in this time, and a line at the level `debug` in between. */
const intervalMillis = 60_000;

/** Returns what logs a repeated failure, such as that of a database that another program keeps locking. */
export function rareWarning(
  clock: Pick<Clock, 'monotonic'>,
  logger: Pick<Logger, 'warn' | 'debug'>,
  message: string,
): (fields: LogFields) => void {
  let warnedAt: number | null = null;
  return (fields) => {
    const now = clock.monotonic();
    const isWarning = warnedAt === null || now - warnedAt >= intervalMillis;
    if (isWarning) warnedAt = now;
    logger[isWarning ? 'warn' : 'debug'](fields, message);
  };
}
