import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';

/**
 * Holds this process's own writers back while the file is rewritten in another one. SQLite would make them wait
 * as well, but by blocking the whole process; here they wait without anybody noticing.
 */
export class WriteGate {
  #closed: Promise<void> | undefined;

  constructor(private readonly clock: Clock) {}

  /** Everything guarded waits until `work` is done. */
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

  /** The same object, each of whose methods passes the gate first. `database_busy` after `patienceMillis`. */
  guard<Target extends object>(target: Target, patienceMillis = Number.POSITIVE_INFINITY): Target {
    return new Proxy(target, {
      get: (_, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          await this.#pass(patienceMillis);
          return Reflect.apply(value, target, args);
        };
      },
    });
  }

  async #pass(patienceMillis: number): Promise<void> {
    if (this.#closed === undefined) return;
    if (patienceMillis === Number.POSITIVE_INFINITY) return this.#closed;
    const passed = new AbortController();
    const opened = this.#closed.then(() => 'open' as const);
    const tired = this.clock.wait(patienceMillis, passed.signal).then(() => 'tired' as const);
    const first = await Promise.race([opened, tired]);
    passed.abort();
    if (first === 'tired')
      throw new Fault('database_busy', 'the database file is being rewritten without erased identities');
  }
}
