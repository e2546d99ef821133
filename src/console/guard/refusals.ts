import type { Clock } from '../../runtime/clock.js';
import type { Logger } from '../../runtime/logger.js';

/** Wrong credentials in a minute, from everywhere together, after which a wrong one gets 429 instead of 401. */
const refusalsMax = 10;
const windowMillis = 60_000;

/**
 * Counts wrong credentials. Behind a proxy everybody has one address, so they are counted together: there is nothing
 * to remember per address, and nothing here ever refuses a right credential. The first one is logged at once, those
 * that follow as one line a minute.
 */
export class Refusals {
  #inWindow = 0;
  #watching = false;
  readonly #closing = new AbortController();

  constructor(
    private readonly clock: Clock,
    private readonly logger: Logger,
    private readonly onRefused: () => void,
  ) {}

  /** Counts one more and returns how to answer it. */
  count(): 'refused' | 'slow down' {
    this.#inWindow += 1;
    this.onRefused();
    if (!this.#watching) void this.#watch();
    return this.#inWindow > refusalsMax ? 'slow down' : 'refused';
  }

  /** Logs what was counted and not logged yet. */
  close(): void {
    this.#closing.abort();
  }

  async #watch(): Promise<void> {
    this.#watching = true;
    this.#report(1);
    let logged = 1;
    do {
      await this.clock.wait(windowMillis, this.#closing.signal);
      if (this.#inWindow > logged) this.#report(this.#inWindow - logged);
      logged = 0;
      const quiet = this.#inWindow === 0;
      this.#inWindow = 0;
      if (quiet) break;
    } while (!this.#closing.signal.aborted);
    this.#watching = false;
  }

  #report(count: number): void {
    this.logger.warn({ count }, 'wrong credentials at the console were refused');
  }
}
