import type { MirrorReader } from '../reading/read-mirror.js';
import type { Logger } from '../runtime/logger.js';
import { newestChange } from '../store/reads/changes.js';
import { type ChangeListener, ChangePump } from './change-pump.js';
import { ListenerTurns } from './listener-turns.js';

/** The listeners for changes of a mirror. Each has a pump of its own, so a slow one does not delay the others. */
export class ChangeListeners {
  /** What waits for these listeners waits for them here. */
  readonly turns = new ListenerTurns();
  readonly #pumps = new Set<ChangePump>();

  private constructor(
    private readonly db: MirrorReader,
    private readonly logger: Logger,
    /** Where a new listener begins. Not read at that call: what is committed during such a read would be skipped. */
    private reached: number,
  ) {}

  static async from(db: MirrorReader, logger: Logger): Promise<ChangeListeners> {
    return new ChangeListeners(db, logger, await newestChange(db));
  }

  /** Returns a function that removes the listener. */
  add(listener: ChangeListener): () => void {
    const pump = new ChangePump(this.db, listener, this.logger, this.turns, this.reached);
    this.#pumps.add(pump);
    return () => void this.#pumps.delete(pump);
  }

  /** Resolves when the listeners have received every change committed before the call; rejects when one cannot be read. */
  async deliver(): Promise<void> {
    await Promise.all([this.#noteReached(), ...[...this.#pumps].map((pump) => pump.pump())]);
  }

  async #noteReached(): Promise<void> {
    const newest = await newestChange(this.db).catch(() => this.reached);
    this.reached = Math.max(this.reached, newest);
  }
}
