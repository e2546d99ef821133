import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import { rareWarning } from '../runtime/rare-warning.js';

/**
 * Returns `read` for a table that is looked up each second: it never rejects. A failure is a warning once a minute, unless
 * the whole database is away, which other parts log.
 */
export function readEachSecond(
  read: () => Promise<void>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  unread: string,
): () => Promise<void> {
  const warn = rareWarning(clock, logger, unread);
  return async () => {
    try {
      await read();
    } catch (error) {
      const isAway = isFault(error, 'database_busy') || isFault(error, 'database_full');
      if (isAway) logger.debug({ error }, unread);
      else warn({ error });
    }
  };
}
