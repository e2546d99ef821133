import type { Clock } from '../../runtime/clock.js';
import type { Logger } from '../../runtime/logger.js';

/** After this many wrong credentials in a minute, from all clients together, a wrong one gets 429 instead of 401. */
const refusalsMax = 10;
const windowMillis = 60_000;

/**
 * Counts wrong credentials. Behind a proxy all clients share one address, so they are counted together, and no state is
 * kept per address. A right credential is never rejected. The first wrong one is logged at once, the following ones as
 * one line a minute.
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

  /** Counts one wrong credential and returns how to respond to it. */
  count(): 'refused' | 'slow down' {
    this.#inWindow += 1;
    this.onRefused();
    if (!this.#watching) void this.#watch();
    return this.#inWindow > refusalsMax ? 'slow down' : 'refused';
  }

  /** Logs the count that was not logged yet. */
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
    this.logger.warn({ count }, 'the console rejected wrong credentials');
  }
}
