import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';

/**
 * Delays this process's own writers while a child process rewrites the file. SQLite would make them wait as well, but
 * by blocking the event loop.
 */
export class WriteGate {
  #closed: Promise<void> | undefined;

  constructor(private readonly clock: Clock) {}

  /** Runs `work`; guarded calls wait until it is done. */
  async closedFor<Result>(work: () => Promise<Result>): Promise<Result> {
    const running = work();
    this.#closed = running.then(
      () => {},
      () => {},
    );
    try {
      return await running;
    } finally {
      this.#closed = undefined;
    }
  }

  /** Returns the object with methods that wait for the gate first. Throws `database_busy` after `timeoutMillis`. */
  guard<Target extends object>(target: Target, timeoutMillis = Number.POSITIVE_INFINITY): Target {
    return new Proxy(target, {
      get: (_, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          await this.#pass(timeoutMillis);
          return Reflect.apply(value, target, args);
        };
      },
    });
  }

  async #pass(timeoutMillis: number): Promise<void> {
    if (this.#closed === undefined) return;
    if (timeoutMillis === Number.POSITIVE_INFINITY) return this.#closed;
    const passed = new AbortController();
    const opened = this.#closed.then(() => 'open' as const);
    const late = this.clock.wait(timeoutMillis, passed.signal).then(() => 'late' as const);
    const first = await Promise.race([opened, late]);
    passed.abort();
    if (first === 'late')
      throw new Fault('database_busy', 'the database file is being rewritten without erased identities');
  }
}
