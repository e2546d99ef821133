import type { SourceName } from '../domain/ids.js';
import type { FollowedSource, FollowedSourceChange, FollowedSources } from './ports.js';

/** The stored rows, kept in memory: a daemon with ten thousand sources reads them again only when another one wrote. */
export class FollowedBook {
  readonly #store: FollowedSources;
  readonly #onChange: (connected: readonly FollowedSource[]) => Promise<void>;
  #rows = new Map<SourceName, FollowedSource>();
  #revision: number | null = null;
  #announcing: Promise<void> = Promise.resolve();

  /** `onChange` gets the connected sources at the first reading, and whenever they change. */
  constructor(store: FollowedSources, onChange: (connected: readonly FollowedSource[]) => Promise<void>) {
    this.#store = store;
    this.#onChange = onChange;
  }

  /** Reads the rows again if another process wrote. Returns whether it did. */
  async refresh(): Promise<boolean> {
    const revision = await this.#store.revision();
    if (revision === this.#revision) return false;
    // A write between the two reads makes the revision grow once more, and the next call reads again.
    const rows = await this.#store.list();
    this.#rows = new Map(rows.map((row) => [row.source, row]));
    await this.#announce();
    // Only now: a failed announcement is repeated with the next reading.
    this.#revision = revision;
    return true;
  }

  rows(): readonly FollowedSource[] {
    return [...this.#rows.values()];
  }

  find(source: SourceName): FollowedSource | undefined {
    return this.#rows.get(source);
  }

  /** Stores changes. Returns those that were stored; the others met a row that another process had changed. */
  async save(changes: readonly FollowedSourceChange[]): Promise<readonly FollowedSourceChange[]> {
    if (changes.length === 0) return [];
    const lost = new Set(await this.#store.save(changes));
    const stored = changes.filter(({ next }) => !lost.has(next.source));
    for (const { next } of stored) this.#rows.set(next.source, next);
    if (lost.size > 0 || this.#revision === null) {
      this.#revision = null;
      await this.refresh();
    } else {
      this.#revision += 1;
      if (stored.some(changesSync))
        await this.#announce().catch((error: unknown) => {
          this.#revision = null;
          throw error;
        });
    }
    return stored;
  }

  /** One announcement at a time. Each has the rows of its own start, so the last one has the newest. */
  #announce(): Promise<void> {
    const announced = this.#announcing.then(() =>
      this.#onChange(this.rows().filter(({ state }) => state === 'connected')),
    );
    this.#announcing = announced.catch(() => {});
    return announced;
  }
}

/** Whether the change adds a synced source, ends one, or gives it another token. */
function changesSync({ before, next }: FollowedSourceChange): boolean {
  const was = before?.state === 'connected' ? before.connectedAt : null;
  const is = next.state === 'connected' ? next.connectedAt : null;
  return was !== is;
}
