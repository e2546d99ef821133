import { Counter, Histogram, Registry } from 'prom-client';

/** The values of a tick that are counted. */
export interface TickMeasured {
  readonly trigger: string;
  readonly outcome: string;
  readonly tookMs: number;
  readonly applied: Readonly<Record<'added' | 'changed' | 'removed' | 'quarantined', number>>;
}

/** Buckets from a one-page delta to a first listing of an hour. */
const secondsOfTicks = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600];

/** The label of all further sources. No source can have this name. */
const otherSources = '(others)';

/** Counters of this process. Values that the mirror stores are read from it at each scrape instead. */
export class ProcessMetrics {
  readonly #named = new Set<string>();
  readonly registry = new Registry();
  readonly #runs = new Counter({
    name: 'rosterd_sync_runs_total',
    help: 'Completed ticks, by trigger and outcome',
    labelNames: ['source', 'cause', 'result'],
    registers: [this.registry],
  });
  readonly #duration = new Histogram({
    name: 'rosterd_sync_duration_seconds',
    help: 'Duration of ticks',
    labelNames: ['source'],
    buckets: secondsOfTicks,
    registers: [this.registry],
  });
  readonly #applied = new Counter({
    name: 'rosterd_records_applied_total',
    help: 'Records that ticks added, changed, removed or put in quarantine',
    labelNames: ['source', 'kind'],
    registers: [this.registry],
  });

  readonly #refusals = new Counter({
    name: 'rosterd_console_refused_credentials_total',
    help: 'Wrong tokens or passwords sent to the console',
    registers: [this.registry],
  });

  /** Ticks of further sources than `sourcesMax` are counted together, so that sums stay complete. */
  constructor(private readonly sourcesMax: number) {}

  credentialRefused(): void {
    this.#refusals.inc();
  }

  ticked(name: string, { trigger, outcome, tookMs, applied }: TickMeasured): void {
    if (this.#named.size < this.sourcesMax) this.#named.add(name);
    const source = this.#named.has(name) ? name : otherSources;
    this.#runs.inc({ source, cause: trigger, result: outcome });
    this.#duration.observe({ source }, tookMs / 1_000);
    for (const kind of ['added', 'changed', 'removed', 'quarantined'] as const)
      this.#applied.inc({ source, kind }, applied[kind]);
  }
}
