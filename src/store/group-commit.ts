import { setImmediate } from 'node:timers';
import { Fault, isFault } from '../domain/fault.js';

/** Whether one item of a group was stored, or why not. */
export type Outcome<Result> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly error: unknown };

export interface GroupLimits {
  /** Maximum number of items in one commit. */
  readonly count: number;
  /** Maximum size of a commit in bytes; a larger item is committed alone. */
  readonly bytes: number;
  /** Maximum number of items that wait while a commit is running. */
  readonly waiting: number;
}

/** A larger group was not faster, and would block the event loop for longer. */
const groupLimits: GroupLimits = { count: 256, bytes: 1024 * 1024, waiting: 8192 };

export interface GroupCommitParts<Item, Result> {
  /**
   * Stores the items in one transaction, in their order, and returns the outcome of each. Throws when the transaction
   * failed as a whole, so that nothing is stored.
   */
  readonly commit: (
    items: readonly Item[],
  ) => readonly Outcome<Result>[] | Promise<readonly Outcome<Result>[]>;
  readonly bytesOf: (item: Item) => number;
  readonly limits?: Partial<GroupLimits>;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly bytes: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Commits what arrives at the same time together, because most of the time of a small commit is the wait for the disk.
 * Nothing waits for others: a group consists of the items that arrived in one turn of the event loop, or while the
 * previous group was being committed. Items are stored in the order of `add`.
 *
 * Each item is answered for itself. When a transaction fails as a whole, its items are committed one by one, so that an
 * item which cannot be stored does not fail its neighbours. When the database is busy or away, all items that wait fail
 * at once: trying each would take as long again for each.
 */
export class GroupCommit<Item, Result> {
  readonly #parts: GroupCommitParts<Item, Result>;
  readonly #limits: GroupLimits;
  /** In the order of arrival, without those that already belong to a group. */
  readonly #waiting: Waiting<Item, Result>[] = [];
  #isRunning = false;

  constructor(parts: GroupCommitParts<Item, Result>) {
    this.#parts = parts;
    this.#limits = { ...groupLimits, ...parts.limits };
  }

  /** Resolves once the item is committed. Throws what `commit` reports for it, and `database_busy` when too many wait. */
  add(item: Item): Promise<Result> {
    if (this.#waiting.length >= this.#limits.waiting)
      return Promise.reject(
        new Fault('database_busy', `more than ${this.#limits.waiting} deliveries wait for the database`),
      );
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, bytes: this.#parts.bytesOf(item), resolve, reject });
      this.#start();
    });
  }

  /** Begins in the next phase of the event loop: by then, everything that has arrived at the sockets was added. */
  #start(): void {
    if (this.#isRunning || this.#waiting.length === 0) return;
    this.#isRunning = true;
    setImmediate(() => {
      void this.#settle(this.#take()).finally(() => {
        this.#isRunning = false;
        this.#start();
      });
    });
  }

  #take(): readonly Waiting<Item, Result>[] {
    let end = 0;
    let bytes = 0;
    for (; end < this.#waiting.length && end < this.#limits.count; end += 1) {
      bytes += this.#waiting[end]?.bytes ?? 0;
      if (bytes > this.#limits.bytes && end > 0) break;
    }
    return this.#waiting.splice(0, end);
  }

  /** Settles every item of the group; never rejects. */
  async #settle(group: readonly Waiting<Item, Result>[]): Promise<void> {
    const failure = await this.#commit(group);
    if (failure === null) return;
    let busy = isBusy(failure.error) ? failure : null;
    for (const waiting of group) {
      // The only item of a group has already been tried alone.
      const alone = busy ?? (group.length === 1 ? failure : await this.#commit([waiting]));
      if (alone === null) continue;
      waiting.reject(alone.error);
      if (isBusy(alone.error)) busy = alone;
    }
    if (busy === null) return;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(busy.error);
  }

  /** Settles the items of a transaction that was committed. Returns the error of one that was not. */
  async #commit(group: readonly Waiting<Item, Result>[]): Promise<{ readonly error: unknown } | null> {
    try {
      const outcomes = await this.#parts.commit(group.map(({ item }) => item));
      for (const [index, waiting] of group.entries()) {
        const outcome = outcomes[index];
        if (outcome === undefined) throw new Error('a commit returned too few outcomes');
        if (outcome.ok) waiting.resolve(outcome.result);
        else waiting.reject(outcome.error);
      }
      return null;
    } catch (error) {
      return { error };
    }
  }
}

const isBusy = (error: unknown): boolean => isFault(error, 'database_busy');
