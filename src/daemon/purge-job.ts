import type { PlatformTime } from '../client/platform-time.js';
import type { Clock } from '../runtime/clock.js';
import type { Interruption } from '../runtime/interruption.js';
import type { Logger } from '../runtime/logger.js';

const minuteMillis = 60_000;

const purgeMillis = 60 * minuteMillis;
/** If no response reported the platform's time for this long, a due purge asks for it. */
const askMillis = 10 * minuteMillis;
/** A wall clock that drifts this far from the monotonic clock was set, not adjusted. */
const setMillisMin = 10 * minuteMillis;

export interface PurgeJobParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The platform's clock. Nothing is purged before its first response: this clock alone may be years ahead. */
  readonly platform: Pick<PlatformTime, 'aheadMillis' | 'sinceObservedMillis'>;
  /** Sends one cheap request whose response reports the platform's time. */
  askPlatform(signal: Interruption): Promise<void>;
  /** Deletes everything past its retention. Returns the number of rows and files. */
  purge(now: number): Promise<number>;
}

/** Deletes what is past its retention, once an hour, unless the clock cannot be trusted. */
export class PurgeJob {
  /** Monotonic, as `#askedAt`: a wall clock set back must not delay them. */
  #purgedAt: number | null = null;
  #askedAt: number;
  #wallAhead: number;
  /** The platform's time counts if it came after this: earlier ones were compared with a wall clock that was set since. */
  #heardAfter = Number.NEGATIVE_INFINITY;

  constructor(private readonly parts: PurgeJobParts) {
    const { clock } = parts;
    this.#askedAt = clock.monotonic();
    this.#wallAhead = clock.now() - clock.monotonic();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, platform } = this.parts;
    const now = clock.now();
    const begun = clock.monotonic();
    if (this.#purgedAt !== null && begun - this.#purgedAt < purgeMillis) return;
    if (!(await this.#knowsPlatform(begun, signal))) return;
    // A wall clock that was just set is not trusted until the next purge, and not before the platform has answered again: a
    // clock a month ahead would delete rows that do not come back.
    const wasSet = Math.abs(now - begun - this.#wallAhead) > setMillisMin;
    this.#wallAhead = now - begun;
    if (wasSet) {
      this.#purgedAt = begun;
      this.#heardAfter = begun;
      logger.warn({}, 'the clock was set: old entries are kept for another hour');
      return;
    }
    // The earlier of the two clocks deletes less. A sandbox may be months ahead of this machine.
    const count = await this.parts.purge(now + Math.min(0, platform.aheadMillis));
    this.#purgedAt = begun;
    if (count > 0) logger.info({ count }, 'expired entries were deleted');
  }

  /**
   * A daemon whose sources are paused, or worked by other members of the fleet, sends no request that would report the
   * time. Nor does one learn it whose wall clock is so wrong that no certificate is valid.
   */
  async #knowsPlatform(now: number, signal: Interruption): Promise<boolean> {
    const { clock, platform } = this.parts;
    const isKnown = () => clock.monotonic() - platform.sinceObservedMillis > this.#heardAfter;
    if (!isKnown() && now - this.#askedAt >= askMillis) {
      this.#askedAt = now;
      await this.parts.askPlatform(signal);
    }
    return isKnown();
  }
}
