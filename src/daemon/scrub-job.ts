import { millisOf } from '../domain/instant.js';
import type { PendingErasures, Scrubbed } from '../store/erasures.js';
import type { ScrubParts } from './scrub-parts.js';

const minuteMillis = 60_000;

/** How often pending scrubs are checked for; the check is one small query. */
export const lookMillis = 30_000;
/** The longest backoff after a scrub that could not finish. Each attempt starts a process, so the wait doubles. */
const retryMillisMax = 5 * minuteMillis;
/** The shortest time between two scrubs. Rewriting a large file is expensive, so erasures close together share one. */
const spacingMillis = 10 * minuteMillis;
/** The same for values that were only replaced, which are not urgent. */
const residueSpacingMillis = 60 * minuteMillis;
/** A scrub waits for a running listing this long at most, so that erased bytes are gone within 15 minutes. */
const overdueMillis = 12 * minuteMillis;
/** An erasure that is further in the future was dated by a clock that was set since. */
const futureMillisMax = 10 * minuteMillis;

/** Scrubs erased bytes when it is time for that. Times are on the monotonic clock: a wall clock set back delays nothing. */
export class ScrubJob {
  #scrubbedAt: number | null = null;
  #rewritten = 0;
  #complained: string | null = null;
  /** Consecutive unfinished scrubs, and the time of the next attempt. */
  #unfinished = 0;
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: ScrubParts) {}

  /** `attempt` does a part of the work whose failure does not keep the rest from being done. */
  async run(
    attempt: (work: () => Promise<void>, failed: string) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { parts } = this;
    const { clock } = parts;
    const now = clock.now();
    const begun = clock.monotonic();
    const restedMillis = this.#scrubbedAt === null ? null : begun - this.#scrubbedAt;
    const pending = await parts.pending();
    // Another process may have scrubbed.
    if (pending.since === null && !pending.residue) this.#settled();
    if (begun < this.#retryAt) return;
    // A backup that stays does not keep the bytes in the database.
    await attempt(
      async () => parts.removeBackups(pending),
      'backups with erased identities remain; retrying',
    );
    if (!isScrubDue(pending, now, restedMillis)) return;
    // Counts as unfinished until the result says otherwise, so that a scrub that throws backs off too.
    this.#retryAt = begun + Math.min(retryMillisMax, lookMillis * 2 ** Math.min(this.#unfinished, 20));
    this.#unfinished += 1;
    const result = await parts.scrub(this.#rewritten, signal);
    if (result.kind === 'scrubbed' || result.kind === 'clean') this.#finished(result, begun);
    else this.#remained(result);
  }

  #finished(result: Extract<Scrubbed, { readonly kind: 'scrubbed' | 'clean' }>, begun: number): void {
    this.#settled();
    if (result.kind === 'clean') return;
    this.#scrubbedAt = begun;
    const { clock, logger, words } = this.parts;
    const tookMs = Math.round(clock.monotonic() - begun);
    logger.info({ count: result.erasures, tookMs }, words.done);
  }

  #settled(): void {
    this.#unfinished = 0;
    this.#retryAt = Number.NEGATIVE_INFINITY;
    this.#complained = null;
  }

  /** Logs once per cause, because the cause may last for hours. */
  #remained(result: Exclude<Scrubbed, { readonly kind: 'scrubbed' | 'clean' }>): void {
    if (result.kind === 'blocked') this.#rewritten = result.rewritten;
    if (this.#complained === result.kind) return;
    this.#complained = result.kind;
    const { logger, words } = this.parts;
    const why = result.kind === 'blocked' ? words.blocked : words.noRoom;
    logger.warn({ count: result.erasures, state: result.kind }, `${words.remain}: ${why}`);
  }
}

/** `restedMillis` is the time since the last scrub, null before the first. An erasure from the future is overdue. */
export function isScrubDue(pending: PendingErasures, now: number, restedMillis: number | null): boolean {
  const rested = (millis: number) => restedMillis === null || restedMillis >= millis;
  if (pending.since === null) return pending.residue && !pending.listing && rested(residueSpacingMillis);
  const waited = now - millisOf(pending.since);
  const overdue = waited >= overdueMillis || waited < -futureMillisMax;
  return overdue || (rested(spacingMillis) && !pending.listing);
}
