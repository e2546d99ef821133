import type { Daemon } from '../../src/daemon/daemon.js';
import type { SourceName } from '../../src/domain/ids.js';
import type { CatalogReading, Reading } from './fake-platform.js';
import type { SourcePlan } from './machine.js';
import type { Plan } from './plan.js';

/** The theme in which changes are announced faster than the quota can answer, and nothing else happens. */
export const quotaTheme = 'changes without end, on a small quota';

const hour = 3_600_000;
/** A tick under way and the latency of a calm network. */
const slackMillis = 5_000;

interface Announced {
  readonly source: string;
  readonly account: string;
  /** The publication it announced. */
  readonly seq: number;
  readonly at: number;
  /** The wait that the daemon's status named at that moment. */
  readonly stated: number;
}

/**
 * Q2: no change is read later than the spacing says. Three bounds, of which two are computed from the requests that the
 * platform received and know nothing of the rule. The time in which the file is rewritten does not count: ticks wait for it.
 */
export class QuotaJudge {
  readonly #announced: Announced[] = [];
  readonly #rewritings: { readonly from: number; to: number }[] = [];

  constructor(
    readonly plan: Plan,
    readonly sources: readonly SourcePlan[],
    readonly violate: (invariant: string, what: string) => void,
  ) {}

  get isOn(): boolean {
    return this.plan.theme === quotaTheme;
  }

  accepted(installation: string, seq: number, at: number, daemon: Daemon | null): void {
    const source = this.sources[Number(/^inst_(\d+)$/.exec(installation)?.[1])];
    if (!this.isOn || source === undefined || daemon === null) return;
    const stated = daemon.engine.sync.spacingOf(source.name as SourceName).waitMillis;
    this.#announced.push({ source: source.name, account: source.account.name, seq, at, stated });
  }

  /** Ticks wait while the file is rewritten. Returns what is called at its end. */
  rewriting(now: () => number): () => void {
    const one = { from: now(), to: Number.POSITIVE_INFINITY };
    this.#rewritings.push(one);
    return () => {
      one.to = now();
    };
  }

  /** Returns how much of the time between two moments the file was being rewritten. */
  #rewritten(since: number, until: number): number {
    return this.#rewritings
      .map(({ from, to }) => Math.min(to, until) - Math.max(from, since))
      .reduce((sum, millis) => sum + Math.max(0, millis), 0);
  }

  /** Returns how many changes were judged. */
  judge(readings: readonly Reading[], catalog: readonly CatalogReading[], until: number): number {
    const { requestsPerHour } = this.plan.freedom;
    const longest = (8 * hour) / requestsPerHour + slackMillis;
    let judged = 0;
    for (const { source, account, seq, at, stated } of this.#announced) {
      if (at > until - longest) continue;
      judged += 1;
      const own = readings.filter((one) => one.account === account);
      // The read may have come before the sender heard that its event was accepted.
      const read = own.find((one) => one.head >= seq && one.kind === 'cursor' && one.status === 200);
      const readAt = read?.at ?? Number.POSITIVE_INFINITY;
      const wait = readAt - at - (read === undefined ? 0 : this.#rewritten(at, readAt));
      const recent = [...own, ...catalog.filter((one) => one.account === account)].filter(
        (one) => one.at <= at && one.at > at - hour - slackMillis,
      ).length;
      if (recent < requestsPerHour * 0.4 && wait > slackMillis)
        this.violate(
          'Q2',
          `${source} was read ${wait} ms late with ${recent} of ${requestsPerHour} requests used`,
        );
      if (wait > 1.5 * stated + slackMillis)
        this.violate(
          'Q2',
          `${source} was read ${wait} ms after a webhook, and its status had said ${stated} ms`,
        );
      if (wait > longest)
        this.violate(
          'Q2',
          `${source} was read ${wait} ms after a webhook: the quota was not spread over the hour`,
        );
    }
    return judged;
  }
}
