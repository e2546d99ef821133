import type { SourceName } from '../domain/ids.js';
import type { Logger } from '../runtime/logger.js';
import type { FleetStore } from './ports.js';
import { shareOf } from './share.js';

export interface HeldSourcesParts {
  readonly member: string;
  readonly store: Pick<FleetStore, 'holdings' | 'take' | 'release'>;
  /** Starts to work these sources. */
  readonly follow: (sources: readonly SourceName[]) => void;
  /** Stops working the source. Resolves when no tick of it is running. */
  readonly leave: (source: SourceName) => Promise<void>;
  readonly isBusy: (source: SourceName) => boolean;
  /** Notifies the other members that sources are free. */
  readonly onReleased: () => Promise<void>;
  readonly logger: Logger;
}

/** The sources that this member works: its share of what the database lists. */
export class HeldSources {
  readonly #held = new Set<SourceName>();
  /** Busy sources that are released when their tick ends. They are not claimed again before. */
  readonly #leaving = new Set<SourceName>();

  constructor(private readonly parts: HeldSourcesParts) {}

  get size(): number {
    return this.#held.size;
  }

  has(source: SourceName): boolean {
    return this.#held.has(source);
  }

  /** Gives up what others took over, releases surplus sources and claims free ones, up to the share of this member. */
  async rebalance(): Promise<void> {
    const { member, store, follow, isBusy, logger } = this.parts;
    // The release of one of these may end after the holdings were read.
    const leaving = new Set(this.#leaving);
    const holdings = await store.holdings();
    this.#giveUpTaken(holdings.held);
    const { take, release } = shareOf(member, holdings, isBusy, (source) => leaving.has(source));
    const surplus = release.filter((source) => !leaving.has(source));
    await this.#release(surplus);
    const mine = [...holdings.held].filter(([source, holder]) => holder === member && !this.has(source));
    const released = new Set([...release, ...leaving]);
    const found = mine.map(([source]) => source).filter((source) => !released.has(source));
    const taken = take.length === 0 ? [] : await store.take(take);
    const gained = [...found, ...taken].filter((source) => !this.#leaving.has(source));
    for (const source of gained) this.#held.add(source);
    follow(gained);
    if (gained.length + surplus.length > 0)
      logger.info(
        { count: this.size, added: gained.length, removed: surplus.length },
        'sources were reassigned',
      );
  }

  /** Forgets that it holds these sources. The next rebalancing claims each of them anew, or releases it. */
  forget(sources: readonly SourceName[]): void {
    for (const source of sources) this.#held.delete(source);
  }

  /** Stops working all sources without releasing them, because the database refuses this member. */
  async abandon(): Promise<void> {
    const abandoned = [...this.#held];
    this.#held.clear();
    await Promise.all(abandoned.map((source) => this.parts.leave(source)));
  }

  /** Resolves when no tick of any source is running. The sources are held until `clear`. */
  async leaveAll(): Promise<void> {
    await Promise.all([...this.#held, ...this.#leaving].map((source) => this.parts.leave(source)));
  }

  clear(): void {
    this.#held.clear();
  }

  #giveUpTaken(holders: ReadonlyMap<SourceName, string>): void {
    for (const source of this.#held) {
      if (holders.get(source) === this.parts.member) continue;
      this.#held.delete(source);
      this.parts.logger.warn({ source }, 'the source was taken over while this process sent no heartbeats');
      void this.parts.leave(source);
    }
  }

  /** Releases idle sources in one statement, and each busy one when its tick ends. */
  async #release(sources: readonly SourceName[]): Promise<void> {
    const { store, leave, isBusy, onReleased } = this.parts;
    const busy = sources.filter((source) => isBusy(source));
    const idle = sources.filter((source) => !busy.includes(source));
    for (const source of idle) this.#held.delete(source);
    await Promise.all(idle.map((source) => leave(source)));
    if (idle.length > 0) await store.release(idle);
    for (const source of busy) void this.#releaseWhenIdle(source);
    if (idle.length > 0) await onReleased();
  }

  async #releaseWhenIdle(source: SourceName): Promise<void> {
    const { store, leave, onReleased, logger } = this.parts;
    this.#leaving.add(source);
    this.#held.delete(source);
    try {
      await leave(source);
      await store.release([source]);
      await onReleased();
    } catch (error) {
      logger.debug({ error, source }, 'a source could not be released and will be retried');
    } finally {
      this.#leaving.delete(source);
    }
  }
}
