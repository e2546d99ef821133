import type { Io } from './io.js';

/**
 * Listens for SIGHUP. Signals that arrive while one reload runs, or before the daemon has started, ask for one more
 * reload and no more. On a terminal SIGHUP means that the terminal is gone, so there it keeps its usual effect: the
 * process ends.
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

  /** Resolves with true once a reload was asked for since the last call, or with false once `stop` aborts. */
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
