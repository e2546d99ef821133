import type { Config } from '../config/config.js';
import { instantFromMillis } from '../domain/instant.js';
import { alertBody, alertTargets, decideAlerts, type OpenAlert } from '../outbox/decide-alerts.js';
import type { FullStatus } from '../reading/status.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { startWakeableLoop } from '../runtime/wakeable-loop.js';
import type { Alerts } from '../store/alerts.js';
import { conditionsOf, failingSince } from './alert-conditions.js';

export interface AlertsParts {
  readonly alerts: Pick<Alerts, 'open' | 'queue' | 'raise' | 'mark' | 'resolve'>;
  readonly config: Pick<Config, 'alerts' | 'notices'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In a fleet, the leader alone reports. */
  leads(): boolean;
  status(): Promise<FullStatus>;
  freeBytes(): Promise<number | null>;
  /** Called when messages were queued. */
  onQueued(): void;
}

export interface AlertWatch extends Closable {
  /** Looks now instead of at the next interval. */
  look(): void;
}

const lookMillis = 30_000;
/** The shortest time between two looks: every tick asks for one. */
const spacingMillis = 1_000;

/** Reports to operators what they must know, once when it begins and once when it is over. */
export function watchAlerts(parts: AlertsParts): AlertWatch {
  const { alerts, config, clock, logger } = parts;
  const stopping = new AbortController();
  let failing: ReadonlyMap<string, number> = new Map();

  const draftsOf = (type: 'alert.raised' | 'alert.resolved', some: readonly OpenAlert[], now: number) =>
    some.flatMap((alert) =>
      alertTargets(alert, config.notices).map((target) => ({
        key: alert.key,
        source: alert.source,
        target,
        body: alertBody(type, alert, now),
      })),
    );

  const report = async () => {
    if (!parts.leads()) {
      failing = new Map();
      return;
    }
    const status = await parts.status();
    const now = clock.now();
    const at = instantFromMillis(now);
    failing = failingSince(status, failing, now);
    const facts = { status, freeBytes: await parts.freeBytes(), failingSince: failing };
    const steps = decideAlerts(conditionsOf(facts, config.alerts, now), await alerts.open(), now);
    const drafts = [
      ...draftsOf('alert.raised', steps.raise, now),
      ...draftsOf('alert.resolved', steps.resolve, now),
    ];
    await alerts.queue(drafts, at);
    await alerts.raise(steps.raise);
    await alerts.mark(steps.gone, at);
    await alerts.mark(steps.back, null);
    await alerts.resolve(steps.resolve.map(({ key }) => key));
    if (drafts.length > 0) parts.onQueued();
  };

  return startWakeableLoop(clock, stopping, async () => {
    await report().catch((error: unknown) => {
      if (!stopping.signal.aborted) logger.debug({ error }, 'alerts could not be checked');
    });
    await clock.wait(spacingMillis, stopping.signal);
    return lookMillis - spacingMillis;
  });
}
