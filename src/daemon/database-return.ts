import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';

export interface DatabaseReturnParts {
  /** Runs one short query on a dedicated connection. Rejects while the server cannot be used. */
  readonly ask: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the database answers again, to wake everything that waits for it. */
  readonly onBack: () => void;
}

export interface DatabaseReturn extends Closable {
  /** Reports that the database could not be reached. Any number of calls starts one probe. */
  away(): void;
  /** Reports that work succeeded: the next outage is probed from the shortest wait again. */
  works(): void;
}

const firstWaitMillis = 100;
const waitMillisMax = 1_000;
/** A database that comes and goes, such as one whose sessions an administrator keeps ending, is worth a line in this time. */
const linesMillis = 60_000;

/**
 * Runs one probe per database instead of one backoff per part. Ticks, the drain, the outbox and the fleet each back off
 * while the database is away, and each would notice its return by itself, up to half a minute late. The probe asks
 * every 100 ms to 1 s and wakes all of them with the first answer.
 *
 * A server that answers the probe but fails the work (out of connections, say) does not cause a busy loop: waits start
 * from 100 ms again only after work has succeeded, so the parts are woken once a second at most. The log has a line at most
 * once a minute.
 */
export function watchReturn({ ask, clock, logger, onBack }: DatabaseReturnParts): DatabaseReturn {
  const stopping = new Interrupter();
  let wait = firstWaitMillis;
  /** Whether the database has been back since work last succeeded. */
  let isReported = false;
  let loggedAt = Number.NEGATIVE_INFINITY;
  let probing: Promise<void> | null = null;

  /** Asks once after each wait, until the server answers or `close` is called. */
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
      const now = clock.monotonic();
      const isLogged = !isReported && now - loggedAt >= linesMillis;
      if (isLogged) loggedAt = now;
      const tookMs = Math.round(now - begun);
      logger[isLogged ? 'info' : 'debug']({ attempt, tookMs }, 'the database is back');
      isReported = true;
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
      isReported = false;
    },
    close: async () => {
      stopping.abort();
      await probing;
    },
  };
}
