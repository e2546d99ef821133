import type { MirrorReader } from '../reading/read-mirror.js';
import type { Logger } from '../runtime/logger.js';
import { type Change, changesSince } from '../store/reads/changes.js';
import type { ListenerTurns } from './listener-turns.js';

export type ChangeListener = (changes: readonly Change[]) => void | Promise<void>;

/**
 * Delivers each change after a given one to a listener, in order and one batch at a time: the next batch is read after the
 * listener has finished the previous one. A listener that throws loses that batch and receives the next.
 */
export class ChangePump {
  /** The last change delivered. */
  #after: number;
  #pumping: Promise<void> = Promise.resolve();
  /** A read that has not begun; null without one. It covers every call until it begins. */
  #next: Promise<void> | null = null;

  /**
   * `reached`: a change that the feed had reached before the call. The newest one is not read for this: what is committed
   * during such a read would be skipped, and it may take long.
   */
  constructor(
    private readonly db: MirrorReader,
    private readonly listener: ChangeListener,
    private readonly logger: Logger,
    private readonly turns: ListenerTurns,
    reached: number,
  ) {
    this.#after = reached;
  }

  /**
   * Reads the change feed once; resolves when every change committed before the call has been delivered. After a
   * failed read the next call delivers the rest.
   */
  pump(): Promise<void> {
    this.#next ??= this.#pumping
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.#drain();
      });
    this.#pumping = this.#next;
    return this.#next;
  }

  /** Reads batches after the last `seq` until one is empty. */
  async #drain(): Promise<void> {
    for (;;) {
      const changes = await changesSince(this.db, { after: this.#after });
      const last = changes.at(-1);
      if (last === undefined) return;
      this.#after = last.seq;
      try {
        await this.turns.run(() => this.listener(changes));
      } catch (error) {
        this.logger.error({ error, count: changes.length }, 'a listener for changes failed');
      }
    }
  }
}
