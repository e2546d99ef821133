import type { Config } from '../config/config.js';
import { instantFromMillis, millisOf } from '../domain/instant.js';
import { aggregateConditions } from '../outbox/aggregate-alerts.js';
import { alertBody, alertTargets, decideAlerts, type OpenAlert } from '../outbox/decide-alerts.js';
import type { JudgedStatus } from '../reading/judged-status.js';
import type { Clock } from '../runtime/clock.js';
import { unlessAborted } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { startWakeableLoop } from '../runtime/wakeable-loop.js';
import type { Alerts } from '../store/alerts.js';
import {
  conditionsOf,
  failingBefore,
  failingSince,
  triedAgain,
  uncheckedBefore,
  uncheckedSince,
  undecided,
  withoutRests,
} from './alert-conditions.js';
import { keepMillis } from './housekeeping.js';

export interface AlertsParts {
  readonly alerts: Pick<Alerts, 'open' | 'told' | 'queue' | 'raise' | 'mark' | 'resolve'>;
  readonly config: Pick<Config, 'alerts' | 'notices'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** In a fleet, the leader alone reports. */
  leads(): boolean;
  /** Whether another daemon is known to lead. */
  isLed(): boolean;
  /** Every source, also the many that a status document leaves out. */
  status(): Promise<JudgedStatus>;
  freeBytes(): Promise<number | 'unknown' | null>;
  /** The keys of scheduled files that are being made. */
  tried(): ReadonlySet<string>;
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
/** How many times as long as a look took: with many sources, looks may use this share of the process. */
const restPerLook = 20;
/** A look that comes later than this, by the wall clock, follows a sleep of the machine or another setting of its clock. */
const lateMillis = 60_000;

/** Reports to operators what they must know, once when it begins and once when it is over. */
export function watchAlerts(parts: AlertsParts): AlertWatch {
  const { alerts, config, clock, logger } = parts;
  const stopping = new AbortController();
  let failing: ReadonlyMap<string, number> = new Map();
  let unchecked: number | null = null;
  /** By the monotonic clock: since when this process watches, and when it last saw each source paused. */
  let watchedSince: number | null = null;
  const pausedAt = new Map<string, number>();
  /** Sources that a receiver asked for by name. */
  const named = new Set<string>(
    config.notices.flatMap(({ about, rules }) => (about.includes('alerts') ? (rules.sources ?? []) : [])),
  );

  const draftsOf = (type: 'alert.raised' | 'alert.resolved', some: readonly OpenAlert[], now: number) =>
    some.flatMap((alert) =>
      alertTargets(alert, config.notices).map((target) => ({
        key: alert.key,
        source: alert.source,
        target,
        body: alertBody(type, alert, now),
      })),
    );

  /** A receiver that came since, or had other sources then, never heard that the alert began. */
  const resolvedOf = async (some: readonly OpenAlert[], now: number) => {
    const told = await alerts.told(some.map(({ key }) => key));
    return some.flatMap((alert) => {
      const drafts = draftsOf('alert.resolved', [alert], now);
      const heard = told.filter(({ key, at }) => key === alert.key && at >= alert.since);
      // Of older alerts, the first messages may have been purged.
      const age = now - millisOf(alert.since);
      if (age < 0 || age >= keepMillis.notices) return drafts;
      return drafts.filter((draft) => heard.some(({ target }) => target === draft.target));
    });
  };

  const report = async () => {
    if (parts.isLed()) {
      watchedSince = null;
      pausedAt.clear();
    }
    if (!parts.leads()) return;
    const seen = clock.monotonic();
    // A server that does not answer may keep it for a minute, and a stop does not wait for it.
    const status = await unlessAborted(stopping.signal, parts.status());
    if (status === null) return;
    const open = await alerts.open();
    const now = clock.now();
    const at = instantFromMillis(now);
    if (watchedSince === null) {
      failing = failingBefore(status, open, config.alerts.failingMinutes, now);
      unchecked = uncheckedBefore(open, config.alerts.failingMinutes, now);
    }
    watchedSince ??= seen;
    failing = failingSince(status, failing, now);
    unchecked = uncheckedSince(status, unchecked, now);
    const freeBytes = await parts.freeBytes();
    const facts = { status, freeBytes, failingSince: failing, uncheckedSince: unchecked };
    for (const { source, paused_at } of status.sources) if (paused_at !== null) pausedAt.set(source, seen);
    const watched = {
      millis: seen - watchedSince,
      pausedMillisAgo: new Map([...pausedAt].map(([source, at]) => [source, seen - at])),
    };
    const found = conditionsOf(facts, config.alerts, now);
    const due = withoutRests(found, open, watched, status.staleMillis);
    const still = [...triedAgain(open, parts.tried()), ...undecided(open, freeBytes)];
    const present = aggregateConditions([...due, ...still], open, named);
    const steps = decideAlerts(present, open, now);
    const drafts = [...draftsOf('alert.raised', steps.raise, now), ...(await resolvedOf(steps.resolve, now))];
    await alerts.queue(drafts, at);
    await alerts.raise(steps.raise);
    await alerts.mark(steps.gone, at);
    await alerts.mark(steps.back, null);
    await alerts.resolve(steps.resolve.map(({ key }) => key));
    if (drafts.length > 0) parts.onQueued();
  };

  let hasFailed = false;
  /** By the wall clock: when the next look is due at the latest, and the end of the one before. */
  let due: number | null = null;
  let ended = 0;
  return startWakeableLoop(clock, stopping, async () => {
    const began = clock.monotonic();
    const wall = clock.now();
    // Nothing was done meanwhile, or times are not what they seem: as after a start.
    if (due !== null && (wall > due + lateMillis || wall < ended - lateMillis)) watchedSince = null;
    try {
      await report();
      hasFailed = false;
    } catch (error) {
      // No alert can be sent meanwhile. Later checks fail for the same reason, so the first warning is enough.
      if (!stopping.signal.aborted)
        logger[hasFailed ? 'debug' : 'warn']({ error }, 'alerts could not be checked');
      hasFailed = true;
    }
    const rest = Math.max(spacingMillis, restPerLook * (clock.monotonic() - began));
    ended = clock.now();
    due = ended + Math.max(rest, lookMillis);
    await clock.wait(rest, stopping.signal);
    return Math.max(0, lookMillis - rest);
  });
}
