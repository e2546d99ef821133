import { AsyncLocalStorage } from 'node:async_hooks';

interface Turn {
  readonly of: ListenerTurns;
  isOver: boolean;
}

const current = new AsyncLocalStorage<Turn>();

/**
 * Runs the listeners of one mirror, and knows what waits for them. A listener may call any mirror of the program. One that
 * waited for the end of itself would never end, so such a call does not wait.
 */
export class ListenerTurns {
  /** The mirrors that listeners of this one wait for now, once for each wait. */
  readonly #awaited: ListenerTurns[] = [];

  /** Calls a listener. Rejects if it throws or rejects. */
  async run(listener: () => unknown): Promise<void> {
    const turn: Turn = { of: this, isOver: false };
    try {
      await current.run(turn, async () => await listener());
    } finally {
      // What it left running, such as a timer, no longer keeps a caller waiting.
      turn.isOver = true;
    }
  }

  /**
   * Waits for `work`, which ends after the listeners of this mirror. Returns null, without calling it, when a listener called
   * this that would have to end first: one of this mirror, or of one whose listeners this mirror's listeners wait for.
   */
  waitFor(work: () => Promise<void>): Promise<void> | null {
    const caller = callingMirror();
    if (caller === null) return work();
    if (this.#leadsTo(caller)) return null;
    const awaited = caller.#awaited;
    awaited.push(this);
    return work().finally(() => {
      awaited.splice(awaited.lastIndexOf(this), 1);
    });
  }

  #leadsTo(other: ListenerTurns): boolean {
    return this === other || this.#awaited.some((turns) => turns.#leadsTo(other));
  }
}

/** Returns the mirror whose listener calls; null outside of listeners. */
function callingMirror(): ListenerTurns | null {
  const turn = current.getStore();
  return turn === undefined || turn.isOver ? null : turn.of;
}
