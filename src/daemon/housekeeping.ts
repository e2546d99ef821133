import type { PlatformTime } from '../client/platform-time.js';
import { isFault } from '../domain/fault.js';
import { instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Interruption } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { startWakeableLoop } from '../runtime/wakeable-loop.js';
import type { Awaitable, PendingErasures, Scrubbed } from '../store/erasures.js';
import type { ScrubWords } from './scrub-words.js';

const minuteMillis = 60_000;
const dayMillis = 24 * 60 * minuteMillis;

/** How often pending scrubs are checked for; the check is one small query. */
const lookMillis = 30_000;
/** The longest backoff after a scrub that could not finish. Each attempt starts a process, so the wait doubles. */
const retryMillisMax = 5 * minuteMillis;
/** The shortest time between two scrubs. Rewriting a large file is expensive, so erasures close together share one. */
const spacingMillis = 10 * minuteMillis;
/** The same for values that were only replaced, which are not urgent. */
const residueSpacingMillis = 60 * minuteMillis;
/** A scrub waits for a running listing this long at most, so that erased bytes are gone within 15 minutes. */
const overdueMillis = 12 * minuteMillis;
const purgeMillis = 60 * minuteMillis;
/** If no response reported the platform's time for this long, a due purge asks for it. */
const askMillis = 10 * minuteMillis;
/** A wall clock that drifts this far from the monotonic clock was set, not adjusted. */
const setMillisMin = 10 * minuteMillis;

/** Retention of finished ticks and notices, and of request budgets, whose windows last an hour. */
export const keepMillis = { ticks: 90 * dayMillis, notices: 30 * dayMillis, budgets: 2 * dayMillis } as const;

export interface HousekeepingParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The platform's clock. Nothing is purged before its first response: this clock alone may be years ahead. */
  readonly platform: Pick<PlatformTime, 'aheadMillis' | 'sinceObservedMillis'>;
  /** Sends one cheap request whose response reports the platform's time. */
  askPlatform(signal: Interruption): Promise<void>;
  pending(): Awaitable<PendingErasures>;
  /**
   * Deletes the backups made before migrations that still contain erased people: at its first call, and once an erasure is
   * pending. Throws for those that cannot be deleted, and tries them again at the next call.
   */
  removeBackups(pending: PendingErasures): void;
  /** `rewritten`: the progress of the previous, blocked scrub. */
  scrub(rewritten: number, signal: AbortSignal): Promise<Scrubbed>;
  readonly words: ScrubWords;
  /** Deletes everything past its retention. Returns the number of rows and files. */
  purge(now: number): Promise<number>;
}

export interface Housekeeping extends Closable {
  /** Checks now instead of at the next interval, because something may have been erased. */
  look(): void;
}

/** Starts the background jobs: scrubbing erased bytes, and deleting what is past its retention. */
export function startHousekeeping(parts: HousekeepingParts): Housekeeping {
  const { clock, logger, words } = parts;
  const stopping = new AbortController();
  /** Monotonic times of the last scrub and, below, the last purge: a wall clock set back must not delay them. */
  let scrubbedAt: number | null = null;
  let rewritten = 0;
  let purgedAt: number | null = null;
  let askedAt = clock.monotonic();
  let wallAhead = clock.now() - clock.monotonic();
  let complained: string | null = null;
  /** Consecutive unfinished scrubs, and the monotonic time of the next attempt. */
  let kept = 0;
  let retryAt = Number.NEGATIVE_INFINITY;

  const scrub = async () => {
    const now = clock.now();
    const begun = clock.monotonic();
    const restedMillis = scrubbedAt === null ? null : begun - scrubbedAt;
    if (begun < retryAt) return;
    const pending = await parts.pending();
    // A backup that stays does not keep the bytes in the database.
    await attempt(
      async () => parts.removeBackups(pending),
      'backups with erased identities remain; retrying',
    );
    if (!isScrubDue(pending, now, restedMillis)) return;
    // Counts as unfinished until the result says otherwise, so that a scrub that throws backs off too.
    retryAt = begun + Math.min(retryMillisMax, lookMillis * 2 ** Math.min(kept, 20));
    kept += 1;
    const result = await parts.scrub(rewritten, stopping.signal);
    if (result.kind === 'scrubbed' || result.kind === 'clean') {
      kept = 0;
      retryAt = Number.NEGATIVE_INFINITY;
    }
    if (result.kind === 'scrubbed') {
      scrubbedAt = begun;
      complained = null;
      const tookMs = Math.round(clock.monotonic() - begun);
      logger.info({ count: result.erasures, tookMs }, words.done);
      return;
    }
    if (result.kind === 'clean') return;
    if (result.kind === 'blocked') rewritten = result.rewritten;
    // Logged once per cause, because the cause may last for hours.
    if (complained !== result.kind) {
      complained = result.kind;
      const why = result.kind === 'blocked' ? words.blocked : words.noRoom;
      logger.warn({ count: result.erasures, state: result.kind }, `${words.remain}: ${why}`);
    }
  };

  /**
   * A daemon whose sources are paused, or worked by other members of the fleet, sends no request that would report the
   * time.
   */
  const knowsPlatform = async (now: number): Promise<boolean> => {
    const isKnown = () => Number.isFinite(parts.platform.sinceObservedMillis);
    if (!isKnown() && now - askedAt >= askMillis) {
      askedAt = now;
      await parts.askPlatform(stopping.signal);
    }
    return isKnown();
  };

  const purge = async () => {
    const now = clock.now();
    const begun = clock.monotonic();
    if (purgedAt !== null && begun - purgedAt < purgeMillis) return;
    if (!(await knowsPlatform(begun))) return;
    // A wall clock that was just set is not trusted until the next purge: a clock a month ahead would delete rows that
    // do not come back.
    const wasSet = Math.abs(now - begun - wallAhead) > setMillisMin;
    wallAhead = now - begun;
    if (wasSet) {
      purgedAt = begun;
      logger.warn({}, 'the clock was set: old entries are kept for another hour');
      return;
    }
    // The earlier of the two clocks deletes less. A sandbox may be months ahead of this machine.
    const count = await parts.purge(now + Math.min(0, parts.platform.aheadMillis));
    purgedAt = begun;
    if (count > 0) logger.info({ count }, 'expired entries were deleted');
  };

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

  return startWakeableLoop(clock, stopping, async () => {
    await attempt(scrub, 'erased bytes could not be scrubbed; retrying');
    await attempt(purge, 'expired entries could not be deleted; retrying');
    return lookMillis;
  });
}

/** `restedMillis` is the time since the last scrub, null before the first. An erasure from the future is overdue. */
export function isScrubDue(pending: PendingErasures, now: number, restedMillis: number | null): boolean {
  const rested = (millis: number) => restedMillis === null || restedMillis >= millis;
  if (pending.since === null) return pending.residue && !pending.listing && rested(residueSpacingMillis);
  const waited = now - millisOf(pending.since);
  const overdue = waited >= overdueMillis || waited < -setMillisMin;
  return overdue || (rested(spacingMillis) && !pending.listing);
}

/** Returns the time before which entries are past a retention of `millis`. */
export const keptSince = (now: number, millis: number) => instantFromMillis(now - millis);
