import type { SourceName } from '../domain/ids.js';
import type { Sync } from '../sync/sync.js';

/** Pauses a source for several reasons at once, such as an operator's pause and a read of single records. */
export class SourceHolds implements Pick<Sync, 'pause' | 'resume'> {
  readonly #reasons = new Map<SourceName, number>();

  constructor(private readonly sync: Pick<Sync, 'pause' | 'resume'>) {}

  /** Resolves when no tick of this source is running. */
  async pause(source: SourceName): Promise<void> {
    this.#reasons.set(source, (this.#reasons.get(source) ?? 0) + 1);
    await this.sync.pause(source);
  }

  /** Ends one reason; the source goes on when it was the last. */
  resume(source: SourceName): void {
    const left = (this.#reasons.get(source) ?? 0) - 1;
    if (left > 0) {
      this.#reasons.set(source, left);
      return;
    }
    this.#reasons.delete(source);
    this.sync.resume(source);
  }
}
