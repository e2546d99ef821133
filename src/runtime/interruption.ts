/** Ends a wait early. An AbortSignal is an Interruption. */
export interface Interruption {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * A cheap AbortController for rosterd's own waits. A real AbortController creates an error with a stack at each abort,
 * which is slow, and every tick aborts three waits.
 */
export class Interrupter implements Interruption {
  #aborted = false;
  readonly #listeners = new Set<() => void>();

  get aborted(): boolean {
    return this.#aborted;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener);
  }

  /** Aborts; a second call does nothing. */
  abort(): void {
    this.#aborted = true;
    for (const listener of this.#listeners) {
      this.#listeners.delete(listener);
      listener();
    }
  }
}

/**
 * Returns the result of the work, or null if the interruption aborts first. The work goes on then, and its end is ignored.
 * `Promise.race` with a promise that lasts would keep every result in memory for as long as that one.
 */
export async function unlessAborted<Result>(
  interruption: Interruption,
  work: Promise<Result>,
): Promise<Result | null> {
  let end = () => {};
  try {
    return await new Promise<Result | null>((resolve, reject) => {
      end = () => resolve(null);
      work.then(resolve, reject);
      if (interruption.aborted) end();
      else interruption.addEventListener('abort', end, { once: true });
    });
  } finally {
    interruption.removeEventListener('abort', end);
  }
}

/** Returns an AbortSignal, for APIs such as `fetch` that require one. */
export function abortSignalOf(interruption: Interruption): AbortSignal {
  if (interruption instanceof AbortSignal) return interruption;
  const controller = new AbortController();
  if (interruption.aborted) controller.abort();
  else interruption.addEventListener('abort', () => controller.abort(), { once: true });
  return controller.signal;
}
