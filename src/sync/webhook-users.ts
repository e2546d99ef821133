import type { SourceName } from '../domain/ids.js';

/**
 * The sources here that use webhook ticks now, counted by the limits that they share. Every question takes as long as
 * there are sources that share the limit or that have just stopped using webhooks, however many sources there are.
 */
export class WebhookUsers {
  readonly #limits = new Map<SourceName, readonly string[]>();
  readonly #byLimit = new Map<string, Set<SourceName>>();
  /** In the order in which they end: each time is a minute after its tick. */
  readonly #ending = new Map<SourceName, number>();

  /** Records that the source uses webhook ticks until then, and the limits that it shares. */
  use(source: SourceName, until: number, limits: readonly string[]): void {
    this.remove(source);
    if (until === Number.NEGATIVE_INFINITY) return;
    this.#limits.set(source, limits);
    for (const limit of limits) {
      const users = this.#byLimit.get(limit);
      if (users === undefined) this.#byLimit.set(limit, new Set([source]));
      else users.add(source);
    }
    if (until !== Number.POSITIVE_INFINITY) this.#ending.set(source, until);
  }

  remove(source: SourceName): void {
    for (const limit of this.#limits.get(source) ?? []) {
      const users = this.#byLimit.get(limit);
      users?.delete(source);
      if (users?.size === 0) this.#byLimit.delete(limit);
    }
    this.#limits.delete(source);
    this.#ending.delete(source);
  }

  /** Returns the sources that use webhook ticks now. */
  all(now: number): Iterable<SourceName> {
    this.#end(now);
    return this.#limits.keys();
  }

  /** Returns those among them that share the limit. */
  sharing(limit: string, now: number): ReadonlySet<SourceName> {
    this.#end(now);
    return this.#byLimit.get(limit) ?? none;
  }

  #end(now: number): void {
    for (const [source, until] of this.#ending) {
      if (until > now) return;
      this.remove(source);
    }
  }
}

const none: ReadonlySet<SourceName> = new Set();
