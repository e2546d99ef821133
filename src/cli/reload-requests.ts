import type { Io } from './io.js';

/**
 * Listens for SIGHUP. All signals that arrive during a reload, or before the daemon has started, cause one further
 * reload. On a terminal SIGHUP means that the terminal was closed, so there it stops the daemon: see run.ts.
 */
export class ReloadRequests {
  #asked = false;
  #wake = () => {};
  readonly #off: () => void;

  constructor({ stderr, onSignal }: Pick<Io, 'stderr' | 'onSignal'>) {
    this.#off =
      stderr.isTTY === true
        ? () => {}
        : onSignal('SIGHUP', () => {
            this.#asked = true;
            this.#wake();
          });
  }

  /** Resolves with true after a SIGHUP since the last call, or with false when `stop` aborts. */
  next(stop: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = () => {
        if (!stop.aborted && !this.#asked) return;
        stop.removeEventListener('abort', settle);
        this.#wake = () => {};
        if (!stop.aborted) this.#asked = false;
        resolve(!stop.aborted);
      };
      this.#wake = settle;
      stop.addEventListener('abort', settle);
      settle();
    });
  }

  close(): void {
    this.#off();
  }
}
