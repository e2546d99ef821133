import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Logger } from '../runtime/logger.js';
import type { Lease, Mirror } from './ports.js';

export interface KeptLease {
  /** Resolves once no renewal is under way; none comes after it. */
  stop(): Promise<void>;
}

/**
 * Renews a lease while a long tick runs, and calls `onLost` once another holder has it. A renewal that fails
 * otherwise is tried again at the next turn: the fence keeps a late write out, the renewal only keeps the peace.
 * Each turn is one `everyMillis` later; the loop ends with `stop`, or with the lease.
 */
export function keepLease(
  { mirror, lease, clock, logger }: { mirror: Mirror; lease: Lease; clock: Clock; logger: Logger },
  everyMillis: number,
  onLost: (error: unknown) => void,
): KeptLease {
  const ended = new Interrupter();
  const renewing = (async () => {
    for (;;) {
      await clock.wait(everyMillis, ended);
      if (ended.aborted) return;
      try {
        await mirror.renew(lease);
      } catch (error) {
        if (isFault(error, 'lease_lost')) {
          onLost(error);
          return;
        }
        logger.warn({ error }, 'the lease could not be renewed and is tried again');
      }
    }
  })();
  return {
    stop: () => {
      ended.abort();
      return renewing;
    },
  };
}
