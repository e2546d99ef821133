import type { PendingErasures } from '../store/erasures.js';
import type { ScrubParts } from './scrub-parts.js';

/** Most readers finish within these attempts; longer ones are not waited for. */
const attemptsMax = 5;
const pauseMillis = 1_000;

/**
 * Scrubs for a run without a daemon, such as one from cron: erased bytes are gone before it ends. A scrub blocked by
 * a reader or a full disk is logged, stays pending in `status`, and is retried by the next run. Throws after the scrub for backups
 * that cannot be deleted.
 */
export async function scrubOnce(parts: ScrubParts, signal: AbortSignal): Promise<void> {
  const pending = await parts.pending();
  try {
    parts.removeBackups(pending);
  } finally {
    // A backup that stays does not keep the bytes in the database.
    await scrubbedOnce(parts, signal);
  }
}

async function scrubbedOnce(parts: ScrubParts, signal: AbortSignal): Promise<void> {
  const { clock, logger, words } = parts;
  let rewritten = 0;
  for (let attempt = 1; isWaiting(await parts.pending()) && !signal.aborted; attempt += 1) {
    const result = await parts.scrub(rewritten, signal);
    if (result.kind === 'clean') return;
    if (result.kind === 'scrubbed') {
      logger.info({ count: result.erasures }, words.done);
      return;
    }
    if (result.kind === 'blocked') rewritten = result.rewritten;
    if (result.kind === 'no_room' || attempt === attemptsMax) {
      const { kind: state, erasures: count } = result;
      logger.warn({ count, state, hint: words.hints[state] }, words.remain);
      return;
    }
    await clock.wait(pauseMillis, signal);
  }
}

/** Replaced values wait while a listing is running, because it replaces more of them. */
function isWaiting({ since, residue, listing }: PendingErasures): boolean {
  return since !== null || (residue && !listing);
}
