import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';

export interface DatabaseReturnParts {
  /** Asks the server one short question over a connection of its own. Rejects while it cannot be used. */
  readonly ask: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The database answers again: everything that waits because of it goes on now. */
  readonly onBack: () => void;
}

export interface DatabaseReturn extends Closable {
  /** Somebody could not reach the database. Any number of calls starts one probe. */
  away(): void;
  /** Work succeeded: the next outage is probed from the first wait again. */
  works(): void;
}

const firstWaitMillis = 100;
const waitMillisMax = 1_000;

/**
 * One probe per database instead of a backoff per part. Ticks, the drain, the outbox and the fleet each back off when
 * the database is away, and each would find out by itself, up to half a minute late. While it is away this asks every
 * 100 ms to 1 s, and wakes all of them with the first answer.
 *
 * A server that answers the probe and fails the work (out of connections, say) does not make anything spin: waits only
 * start from 100 ms again once work has succeeded, so that it is woken once a second at most.
 */
export function watchReturn({ ask, clock, logger, onBack }: DatabaseReturnParts): DatabaseReturn {
  const stopping = new Interrupter();
  let wait = firstWaitMillis;
  let probing: Promise<void> | null = null;

  /** Each turn asks once, after a wait; ends with an answer, or with `close`. */
  const probe = async () => {
    const begun = clock.monotonic();
    for (let attempt = 1; ; attempt += 1) {
      await clock.wait(wait, stopping);
      wait = Math.min(waitMillisMax, wait * 2);
      if (stopping.aborted) return;
      try {
        await ask();
      } catch {
        continue;
      }
      if (stopping.aborted) return;
      logger.info({ attempt, tookMs: Math.round(clock.monotonic() - begun) }, 'the database is back');
      return;
    }
  };
  return {
    away: () => {
      if (probing !== null || stopping.aborted) return;
      probing = probe().then(() => {
        probing = null;
        if (!stopping.aborted) onBack();
      });
    },
    works: () => {
      wait = firstWaitMillis;
    },
    close: async () => {
      stopping.abort();
      await probing;
    },
  };
}
