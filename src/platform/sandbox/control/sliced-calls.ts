import { setImmediate } from 'node:timers/promises';
import { defined } from '../../../domain/defined.js';
import type { Closable } from '../../../runtime/lifecycle.js';
import { Problem } from '../../http/problem.js';
import type { Services } from '../../services.js';

/** Changes in one transaction: some 10 to 20 ms, for which other requests and deliveries wait. */
const changesPerSlice = 20;

/**
 * Control calls that make many changes. Each slice of changes is one transaction, and other requests and deliveries get
 * their turn between two slices. A call that fits into one slice does everything or nothing.
 */
export class SlicedCalls implements Closable {
  readonly #services: Services;
  readonly #running = new Set<Promise<unknown>>();
  /** What ended all calls that began before it: a reset or the end of the sandbox. */
  #ended: { readonly reason: string } | null = null;

  constructor(services: Services) {
    this.#services = services;
  }

  /**
   * Makes `count` changes one after the other. Returns what they return, in order. When one is refused or the calls were
   * ended, the slices before it stay committed, and the problem says how many changes they made and lists them.
   */
  run(count: number, change: (now: number) => string): Promise<readonly string[]> {
    const call = this.#slices(count, change).finally(() => this.#running.delete(call));
    this.#running.add(call);
    return call;
  }

  /** Ends the calls in progress before their next slice. */
  end(reason: string): void {
    this.#ended = { reason };
  }

  async close(): Promise<void> {
    this.end('The sandbox stopped.');
    await Promise.allSettled(this.#running);
  }

  async #slices(count: number, change: (now: number) => string): Promise<readonly string[]> {
    const { state, clock } = this.#services;
    const begun = this.#ended;
    const slice = state.transaction((size: number) => {
      const now = clock.now();
      return Array.from({ length: size }, () => change(now));
    });
    const made: string[] = [];
    while (made.length < count) {
      if (made.length > 0) await setImmediate();
      if (this.#ended !== null && this.#ended !== begun)
        throw unfinished(new Problem(409, 'conflict', this.#ended.reason), made, count);
      try {
        made.push(...slice(Math.min(changesPerSlice, count - made.length)));
      } catch (error) {
        throw error instanceof Problem && made.length > 0 ? unfinished(error, made, count) : error;
      }
    }
    return made;
  }
}

function unfinished(
  { status, type, message, about }: Problem,
  made: readonly string[],
  count: number,
): Problem {
  return new Problem(status, type, `${message} ${made.length} of ${count} changes were made.`, {
    ...defined({ remediation: about.remediation, headers: about.headers }),
    details: { ...about.details, ids: made },
  });
}
