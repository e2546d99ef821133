import type { MirrorReader } from '../reading/read-mirror.js';
import type { Logger } from '../runtime/logger.js';
import { type Change, changesSince, newestChange } from '../store/reads/changes.js';

export type ChangeListener = (changes: readonly Change[]) => void | Promise<void>;

/**
 * Hands each change committed from now on to a listener, in order, one batch at a time: the next is read when the listener is
 * done with the one before. A listener that throws loses that batch and goes on with the next.
 */
export class ChangePump {
  /** Null until the newest change before the listener was read. */
  #after: number | null = null;
  #pumping: Promise<unknown>;

  constructor(
    private readonly db: MirrorReader,
    private readonly listener: ChangeListener,
    private readonly logger: Logger,
  ) {
    this.#pumping = this.#begin();
    // Whoever pumps next begins again, and is told.
    this.#pumping.catch(() => {});
  }

  /**
   * Looks once more; resolves when everything committed before the call was handed over. What could not be read is
   * handed over by the next call.
   */
  pump(): Promise<void> {
    const pumping = this.#pumping.catch(() => {}).then(() => this.#drain());
    this.#pumping = pumping;
    return pumping;
  }

  async #begin(): Promise<number> {
    this.#after ??= await newestChange(this.db);
    return this.#after;
  }

  /** Ends at the first empty batch; each turn begins behind the last number of the one before. */
  async #drain(): Promise<void> {
    let after = await this.#begin();
    for (;;) {
      const changes = await changesSince(this.db, { after });
      const last = changes.at(-1);
      if (last === undefined) return;
      after = last.seq;
      this.#after = after;
      try {
        await this.listener(changes);
      } catch (error) {
        this.logger.error({ error, count: changes.length }, 'a listener for changes failed');
      }
    }
  }
}
