import { instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Awaitable, PendingErasures, Scrubbed } from '../store/erasures.js';

const minuteMillis = 60_000;
const dayMillis = 24 * 60 * minuteMillis;

/** How often it looks whether something waits to be scrubbed; asking costs next to nothing. */
const lookMillis = 30_000;
/** One that was kept from its work is tried again in a look's time, then half as often each time: it starts a process. */
const retryMillisMax = 5 * minuteMillis;
/** Rewriting a large file is work for the disk, so erasures that come close together share one. */
const spacingMillis = 10 * minuteMillis;
/** Values that were merely replaced ask for no hurry. */
const residueSpacingMillis = 60 * minuteMillis;
/** A listing under way is let be until an erasure has waited this long: in all it is gone within 15 minutes. */
const overdueMillis = 12 * minuteMillis;
const purgeMillis = 60 * minuteMillis;
/** A wall clock that moved this much otherwise than time did was set, and not merely adjusted. */
const setMillisMin = 10 * minuteMillis;

/** How long what is kept for looking back is kept. */
export const keepMillis = { ticks: 90 * dayMillis, notices: 30 * dayMillis } as const;

export interface HousekeepingParts {
  readonly clock: Clock;
  readonly logger: Logger;
  pending(): Awaitable<PendingErasures>;
  /** `rewritten`: what the scrub before got done. */
  scrub(rewritten: number, signal: AbortSignal): Promise<Scrubbed>;
  /** Everything too old to be kept goes; answers how many rows and files that was. */
  purge(now: number): Promise<number>;
}

export interface House extends Closable {
  /** Something may have been erased: look now rather than at the next turn. */
  look(): void;
}

/** What happens by itself, without anybody asking: the file is scrubbed of the erased, and old things expire. */
export function keepHouse(parts: HousekeepingParts): House {
  const { clock, logger } = parts;
  const stopping = new AbortController();
  /** On the monotonic clock, as the last purge: a wall clock set back must not put either off. */
  let scrubbedAt: number | null = null;
  let rewritten = 0;
  let purgedAt: number | null = null;
  let wallAhead = clock.now() - clock.monotonic();
  let complained: string | null = null;
  /** Scrubs in a row that did not get done, and when the next one may be tried, on the monotonic clock. */
  let kept = 0;
  let retryAt = Number.NEGATIVE_INFINITY;
  let asleep = new Interrupter();
  let called = false;

  const scrub = async () => {
    const now = clock.now();
    const begun = clock.monotonic();
    const restedMillis = scrubbedAt === null ? null : begun - scrubbedAt;
    if (begun < retryAt || !isScrubDue(await parts.pending(), now, restedMillis)) return;
    // Until it has got done it counts as kept from it, also when it throws.
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
      logger.info({ count: result.erasures, tookMs }, 'erased identities are out of the file');
      return;
    }
    if (result.kind === 'clean') return;
    if (result.kind === 'blocked') rewritten = result.rewritten;
    // Once per cause and not at every look: it may last for hours.
    if (complained !== result.kind) {
      complained = result.kind;
      const why =
        result.kind === 'blocked'
          ? 'erased identities still stand in the file: somebody reads or writes it; close long reads'
          : 'erased identities still stand in the file: the disk has no room to rewrite it';
      logger.warn({ count: result.erasures, state: result.kind }, why);
    }
  };

  const purge = async () => {
    const now = clock.now();
    const begun = clock.monotonic();
    if (purgedAt !== null && begun - purgedAt < purgeMillis) return;
    // What is too old is judged by a clock that goes as time does. One that was set is believed an hour later, if it
    // still says the same: what a clock ahead by a month would delete does not come back.
    const wasSet = Math.abs(now - begun - wallAhead) > setMillisMin;
    wallAhead = now - begun;
    if (wasSet) {
      purgedAt = begun;
      logger.warn({}, 'the clock was set: old entries are kept for another hour');
      return;
    }
    const count = await parts.purge(now);
    purgedAt = begun;
    if (count > 0) logger.info({ count }, 'what was kept long enough is gone');
  };

  const failing = new Set<string>();

  /** A database that is locked for hours is told of once, and every tick asks for a look. */
  const attempt = async (work: () => Promise<void>, failed: string) => {
    try {
      await work();
      failing.delete(failed);
    } catch (error) {
      if (!stopping.signal.aborted) logger[failing.has(failed) ? 'debug' : 'warn']({ error }, failed);
      failing.add(failed);
    }
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      called = false;
      await attempt(scrub, 'the file could not be scrubbed and is tried again');
      await attempt(purge, 'old entries could not be removed and are tried again');
      if (called || stopping.signal.aborted) continue;
      asleep = new Interrupter();
      await clock.wait(lookMillis, asleep);
    }
  };
  const running = run();
  return {
    look: () => {
      called = true;
      asleep.abort();
    },
    close: async () => {
      stopping.abort();
      asleep.abort();
      await running;
    },
  };
}

/** `restedMillis`: since the last scrub, null before the first. An erasure from the future is overdue. */
export function isScrubDue(pending: PendingErasures, now: number, restedMillis: number | null): boolean {
  const rested = (millis: number) => restedMillis === null || restedMillis >= millis;
  if (pending.since === null) return pending.residue && !pending.listing && rested(residueSpacingMillis);
  const waited = now - millisOf(pending.since);
  const overdue = waited >= overdueMillis || waited < -setMillisMin;
  return overdue || (rested(spacingMillis) && !pending.listing);
}

/** The moment before which something kept for so long has to go. */
export const keptSince = (now: number, millis: number) => instantFromMillis(now - millis);
