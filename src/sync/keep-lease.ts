import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Logger } from '../runtime/logger.js';
import type { Lease, Mirror } from './ports.js';

export interface KeptLease {
  /** Stops renewing. Resolves when no renewal is in progress. */
  stop(): Promise<void>;
}

/**
 * Renews a lease every `everyMillis` during a long tick, and calls `onLost` once another holder has it. Any other
 * failure is retried at the next turn: late writes are rejected by the fence token, not by the renewal. The loop ends
 * with `stop` or when the lease is lost.
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
        logger.warn({ error }, 'the lease could not be renewed and will be retried');
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
