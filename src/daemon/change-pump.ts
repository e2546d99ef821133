import type { Logger } from '../runtime/logger.js';
import { type Change, changesSince } from '../store/reads/changes.js';
import type { MirrorReader } from './read-mirror.js';

export type ChangeListener = (changes: readonly Change[]) => void | Promise<void>;

/**
 * Hands each committed change to a listener, in order, one batch at a time: the next is read when the listener is
 * done with the one before. A listener that throws loses that batch and goes on with the next.
 */
export class ChangePump {
  #pumping: Promise<void> = Promise.resolve();

  constructor(
    private readonly db: MirrorReader,
    private readonly listener: ChangeListener,
    private readonly logger: Logger,
    private after: number,
  ) {}

  /** Looks once more; resolves when everything committed before the call was handed over. */
  pump(): Promise<void> {
    this.#pumping = this.#pumping.then(() => this.#drain());
    return this.#pumping;
  }

  /** Ends at the first empty batch; each turn begins behind the last number of the one before. */
  async #drain(): Promise<void> {
    for (;;) {
      const changes = await changesSince(this.db, { after: this.after });
      const last = changes.at(-1);
      if (last === undefined) return;
      this.after = last.seq;
      try {
        await this.listener(changes);
      } catch (error) {
        this.logger.error({ error, count: changes.length }, 'a listener for changes failed');
      }
    }
  }
}
