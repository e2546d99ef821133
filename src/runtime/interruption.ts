/** What ends a wait early. An AbortSignal is one. */
export interface Interruption {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/**
 * For waits of our own. An AbortController does the same and makes an error with a stack each time it is used, which
 * takes fifteen times as long; every tick ends three waits.
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

  /** A second time does nothing. */
  abort(): void {
    this.#aborted = true;
    for (const listener of this.#listeners) {
      this.#listeners.delete(listener);
      listener();
    }
  }
}

/** For whoever takes nothing else, as `fetch` does. */
export function abortSignalOf(interruption: Interruption): AbortSignal {
  if (interruption instanceof AbortSignal) return interruption;
  const controller = new AbortController();
  if (interruption.aborted) controller.abort();
  else interruption.addEventListener('abort', () => controller.abort(), { once: true });
  return controller.signal;
}
