import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';

/**
 * Delays this process's own writers while a child process rewrites the file or builds an index. SQLite would make them
 * wait as well, but by blocking the event loop.
 */
export class WriteGate {
  #closed: Promise<void> | undefined;

  constructor(private readonly clock: Clock) {}

  /** Runs `work`, after work that was given before; guarded calls wait until all of it is done. */
  async closedFor<Result>(work: () => Promise<Result>): Promise<Result> {
    const running = this.#closed === undefined ? work() : this.#closed.then(work);
    const closed = running.then(
      () => {},
      () => {},
    );
    this.#closed = closed;
    try {
      return await running;
    } finally {
      if (this.#closed === closed) this.#closed = undefined;
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
    const passed = new AbortController();
    const late =
      timeoutMillis === Number.POSITIVE_INFINITY
        ? []
        : [this.clock.wait(timeoutMillis, passed.signal).then(() => 'late' as const)];
    try {
      while (this.#closed !== undefined)
        if ((await Promise.race([this.#closed, ...late])) === 'late')
          throw new Fault('database_busy', 'the database file is being rewritten or indexed');
    } finally {
      passed.abort();
    }
  }
}
