import { millisOf } from '../domain/instant.js';
import { Interrupter, type Interruption } from '../runtime/interruption.js';
import type { SharedRequests, SyncSource } from './ports.js';
import { jitterShare } from './schedule.js';
import type { SourceLoop } from './source-loop.js';
import type { SyncOptions, SyncParts } from './sync.js';

const hourMillis = 60 * 60_000;

/** Returns how so many sources share the requests of this process. */
export function sharesOf(sources: number, options: SyncOptions): SharedRequests {
  const { intervalMillis, idleIntervalMillis } = options;
  return (
    options.shares?.(sources) ?? { intervalMillis, idleIntervalMillis, grantMillis: hourMillis, timed: null }
  );
}

type Loop = Pick<SourceLoop, 'start' | 'dueWithin' | 'nudge' | 'recheck' | 'isIll' | 'timedSince'>;

interface Member {
  readonly source: Pick<SyncSource, 'identity' | 'dropsIdentity'>;
  readonly loop: Loop;
}

/**
 * Spreads what many sources would ask for at once, at a start, after missed webhooks or with new secrets. So many sources
 * that their first ticks would exceed the requests for timed ticks are a crowd; fewer tick at once.
 */
export class Crowd {
  /** When webhooks were last found to have been missed, on the wall clock: ticks before that do not count. */
  #behindAt = Number.NEGATIVE_INFINITY;
  #rechecking = new Interrupter();

  constructor(
    private readonly parts: Pick<SyncParts, 'clock' | 'random' | 'logger' | 'options' | 'lastTicks'>,
    private readonly sharesNow: () => SharedRequests,
  ) {}

  /** Starts the timers of `all`. Their first ticks are due now, or in a crowd when the last ones were too old. */
  start(all: readonly Member[], sources: number): void {
    if (!this.#isCrowd(sources)) {
      for (const { loop } of all) loop.start();
      return;
    }
    // Webhooks start ticks meanwhile.
    for (const { loop } of all) loop.start(Number.POSITIVE_INFINITY);
    void this.#recall(all);
  }

  /** Lets all sources tick, because webhooks may have been missed: in a crowd the longest unread ones first. */
  catchUp(loops: readonly Loop[]): void {
    if (!this.#isCrowd(loops.length)) {
      for (const loop of loops) loop.nudge();
      return;
    }
    this.#behindAt = this.parts.clock.now();
    for (const loop of [...loops].sort((a, b) => a.timedSince - b.timedSince)) loop.dueWithin(0);
  }

  /** Checks again what the tokens of these sources may read: in a crowd only of those that do not work, one by one. */
  recheck(loops: readonly Loop[], sources: number): void {
    this.#rechecking.abort();
    this.#rechecking = new Interrupter();
    if (!this.#isCrowd(sources)) for (const loop of loops) loop.recheck();
    else
      void this.#recheckSpread(
        loops.filter(({ isIll }) => isIll),
        this.#rechecking,
      );
  }

  close(): void {
    this.#rechecking.abort();
  }

  #isCrowd(sources: number): boolean {
    const { timed } = sharesOf(sources, this.parts.options);
    // A first tick also checks the grant.
    return timed !== null && 2 * sources > timed.atOnce;
  }

  async #recall(all: readonly Member[]): Promise<void> {
    const { clock, random, logger } = this.parts;
    const names = all.map(({ source }) => source.identity.name);
    const last =
      (await this.parts.lastTicks?.(names).catch((error: unknown) => {
        logger.warn({ error }, 'the last ticks could not be read: every source is due now');
        return null;
      })) ?? null;
    const now = clock.now();
    for (const { source, loop } of all) {
      const seen = last?.get(source.identity.name);
      const age = seen === undefined ? -1 : now - millisOf(seen.endedAt);
      const { intervalMillis, grantMillis } = this.sharesNow();
      // A source that was not listed completely is due now, and so is one whose tick is dated in the future.
      if (age < 0 || seen?.follows !== true) {
        loop.dueWithin(0, { lists: last !== null && seen?.follows !== true });
        continue;
      }
      const within = intervalMillis * spread(random.fraction()) - age;
      loop.dueWithin(now - age < this.#behindAt ? Math.min(0, within) : within, {
        lists: false,
        // Spread, because each check is a request. A grant that changes is announced and checked at once. Names that are no
        // longer kept are erased with the first tick, which sends no request for it.
        grantWaitMillis: source.dropsIdentity === true ? 0 : random.fraction() * grantMillis,
      });
    }
  }

  async #recheckSpread(all: readonly Loop[], signal: Interruption): Promise<void> {
    const { timed } = this.sharesNow();
    for (const [index, loop] of all.entries()) {
      if (timed !== null && index >= timed.atOnce)
        await this.parts.clock.wait(hourMillis / timed.perHour, signal);
      if (signal.aborted) return;
      loop.recheck();
    }
  }
}

const spread = (chance: number) => 1 + jitterShare * (2 * chance - 1);
