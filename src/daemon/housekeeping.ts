import { isFault } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Closable } from '../runtime/lifecycle.js';
import { startWakeableLoop } from '../runtime/wakeable-loop.js';
import { PurgeJob, type PurgeJobParts } from './purge-job.js';
import { lookMillis, ScrubJob } from './scrub-job.js';
import type { ScrubParts } from './scrub-parts.js';

const dayMillis = 24 * 3_600_000;

/** Retention of finished ticks and notices, and of request budgets, whose windows last an hour. */
export const keepMillis = { ticks: 90 * dayMillis, notices: 30 * dayMillis, budgets: 2 * dayMillis } as const;

export interface HousekeepingParts extends ScrubParts, PurgeJobParts {}

export interface Housekeeping extends Closable {
  /** Checks now instead of at the next interval, because something may have been erased. */
  look(): void;
}

/** Starts the background jobs: scrubbing erased bytes, and deleting what is past its retention. */
export function startHousekeeping(parts: HousekeepingParts): Housekeeping {
  const { clock, logger } = parts;
  const stopping = new AbortController();
  const failing = new Set<string>();

  /** Warns once per failing job: every tick starts a check, and a database may stay locked for hours. */
  const attempt = async (work: () => Promise<void>, failed: string) => {
    try {
      await work();
      failing.delete(failed);
    } catch (error) {
      // A signal that stops the daemon may end its child process first. Otherwise, the next attempt does the work.
      if (stopping.signal.aborted || isFault(error, 'stopped')) return;
      logger[failing.has(failed) ? 'debug' : 'warn']({ error }, failed);
      failing.add(failed);
    }
  };

  const scrub = new ScrubJob(parts);
  const purge = new PurgeJob(parts);
  return startWakeableLoop(clock, stopping, async () => {
    await attempt(() => scrub.run(attempt, stopping.signal), 'erased bytes could not be scrubbed; retrying');
    await attempt(() => purge.run(stopping.signal), 'expired entries could not be deleted; retrying');
    return lookMillis;
  });
}

/** Returns the time before which entries are past a retention of `millis`. */
export const keptSince = (now: number, millis: number) => instantFromMillis(now - millis);
