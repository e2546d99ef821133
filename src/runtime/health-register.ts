import type { Instant } from '../domain/instant.js';

/**
 * `ill`: the process cannot do its work, for example because its database accepts no writes; it retries by itself.
 * `attention`: the process works, but a person should look at it.
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
  /** A stable key for programs: `tick.acme`, `inbox`, `clock-skew`. */
  readonly key: string;
}

/** What work of this process waits for. It is no problem: it ends by itself, or the ticks that wait for it report one. */
export interface Wait {
  /** A stable key for programs: `rewrite`, `index`, `lock`. */
  readonly key: string;
  /** One sentence that says what is done and what waits for it. */
  readonly text: string;
  /** When it began. */
  readonly since: Instant;
}

/**
 * The current problems of this process, in memory, so that a failure is reported even when the database cannot store it.
 * One entry per key. A key that is reported again keeps its original start time until it is cleared.
 */
export class HealthRegister {
  readonly #reports = new Map<string, HealthReport>();
  readonly #tried = new Set<string>();

  report(key: string, problem: HealthProblem): void {
    const since = this.#reports.get(key)?.since ?? problem.since;
    this.#reports.set(key, { ...problem, key, since });
  }

  /** Reports what a person should look at; null clears it. */
  attention(key: string, text: string | null, since: Instant): void {
    if (text === null) this.clear(key);
    else this.report(key, { severity: 'attention', text, since });
  }

  clear(key: string): void {
    this.#reports.delete(key);
  }

  /** Does what a key is about, which may have failed before this process started. Whether it fails again shows at the end. */
  async during<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    this.#tried.add(key);
    try {
      return await work();
    } finally {
      this.#tried.delete(key);
    }
  }

  /** Returns the keys of what is being done now. */
  get tried(): ReadonlySet<string> {
    return this.#tried;
  }

  /** Returns the problems in the order of their first report. */
  list(): readonly HealthReport[] {
    return [...this.#reports.values()];
  }
}
