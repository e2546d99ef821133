import { Counter, Histogram, Registry } from 'prom-client';

/** What is counted of a tick. */
export interface TickMeasured {
  readonly trigger: string;
  readonly outcome: string;
  readonly tookMs: number;
  readonly applied: Readonly<Record<'added' | 'changed' | 'removed' | 'quarantined', number>>;
}

/** From a delta of one page to a first listing that takes its hour. */
const secondsOfTicks = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600];

/** Counted while the process runs; what the mirror itself knows is read from it at each scrape instead. */
export class ProcessMetrics {
  readonly registry = new Registry();
  readonly #runs = new Counter({
    name: 'rosterd_sync_runs_total',
    help: 'Ticks that ended, by what caused them and how they ended',
    labelNames: ['source', 'cause', 'result'],
    registers: [this.registry],
  });
  readonly #duration = new Histogram({
    name: 'rosterd_sync_duration_seconds',
    help: 'How long a tick took',
    labelNames: ['source'],
    buckets: secondsOfTicks,
    registers: [this.registry],
  });
  readonly #applied = new Counter({
    name: 'rosterd_records_applied_total',
    help: 'Records that ticks added, changed, removed or set aside',
    labelNames: ['source', 'kind'],
    registers: [this.registry],
  });

  readonly #refusals = new Counter({
    name: 'rosterd_console_refused_credentials_total',
    help: 'Wrong tokens or passwords at the console',
    registers: [this.registry],
  });

  credentialRefused(): void {
    this.#refusals.inc();
  }

  ticked(source: string, { trigger, outcome, tookMs, applied }: TickMeasured): void {
    this.#runs.inc({ source, cause: trigger, result: outcome });
    this.#duration.observe({ source }, tookMs / 1_000);
    for (const kind of ['added', 'changed', 'removed', 'quarantined'] as const)
      this.#applied.inc({ source, kind }, applied[kind]);
  }
}
