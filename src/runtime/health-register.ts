import type { Instant } from '../domain/instant.js';

/**
 * `ill`: the process cannot do its work, for example because its database takes no writes; it retries by itself.
 * `attention`: it works, and a person should look.
 */
export type Severity = 'attention' | 'ill';

export interface HealthProblem {
  readonly severity: Severity;
  /** One sentence with the cause and what to do; never a name of a person or a secret. */
  readonly text: string;
  /** When it began. */
  readonly since: Instant;
  /** The source it concerns, if it concerns one. */
  readonly source?: string;
}

export interface HealthReport extends HealthProblem {
  /** What is wrong, as programs know it: `tick.acme`, `inbox`, `clock-skew`. */
  readonly key: string;
}

/**
 * What this process knows to be wrong with itself, in memory: a failure that the database cannot store is reported all
 * the same. One entry per key. A key that is reported again keeps the time at which it began, until it is cleared.
 */
export class HealthRegister {
  readonly #reports = new Map<string, HealthReport>();

  report(key: string, problem: HealthProblem): void {
    const since = this.#reports.get(key)?.since ?? problem.since;
    this.#reports.set(key, { ...problem, key, since });
  }

  clear(key: string): void {
    this.#reports.delete(key);
  }

  /** In the order in which they began to be reported. */
  list(): readonly HealthReport[] {
    return [...this.#reports.values()];
  }
}
