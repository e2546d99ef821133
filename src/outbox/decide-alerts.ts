import { instantFromMillis, millisOf } from '../domain/instant.js';
import { isShared } from './aggregate-alerts.js';
import type { Condition, OpenAlert } from './ports.js';

export type { Condition, OpenAlert } from './ports.js';

export interface AlertSteps {
  readonly raise: readonly OpenAlert[];
  /** Keys of open alerts whose condition is no longer present. */
  readonly gone: readonly string[];
  /** Keys of open alerts whose condition was absent and has returned. */
  readonly back: readonly string[];
  readonly resolve: readonly OpenAlert[];
}

/** How long a condition must be absent before it counts as resolved: an intermittent one sends one message. */
const resolveMillis = 5 * 60_000;

export const alertKey = ({ kind, source }: Pick<Condition, 'kind' | 'source'>): string =>
  source === null ? kind : `${kind}.${source}`;

/** Compares the present conditions with the open alerts. Pure function. */
export function decideAlerts(
  present: readonly Condition[],
  open: readonly OpenAlert[],
  now: number,
): AlertSteps {
  const at = instantFromMillis(now);
  const keys = new Set(present.map(alertKey));
  const known = new Set(open.map(({ key }) => key));
  const absent = open.filter(({ key }) => !keys.has(key));
  return {
    raise: present
      .filter((condition) => !known.has(alertKey(condition)))
      .map((condition) => ({ ...condition, key: alertKey(condition), since: at, goneSince: null })),
    gone: absent.filter(({ goneSince }) => goneSince === null).map(({ key }) => key),
    back: open.filter(({ key, goneSince }) => keys.has(key) && goneSince !== null).map(({ key }) => key),
    // A time in the future was written while a clock was wrong.
    resolve: absent.filter(
      ({ goneSince }) => goneSince !== null && Math.abs(now - millisOf(goneSince)) >= resolveMillis,
    ),
  };
}

/** The message of an alert in JSON. Its field names are a public contract. */
export function alertBody(type: 'alert.raised' | 'alert.resolved', alert: OpenAlert, now: number): string {
  const { kind, source, since } = alert;
  const text = type === 'alert.raised' ? alert.text : `resolved: ${alert.text}`;
  return JSON.stringify({ type, alert: kind, source, since, at: instantFromMillis(now), text });
}

/**
 * Returns the receivers of an alert: those that want alerts, and this source if the alert concerns one. A shared alert of
 * many sources goes to receivers of all sources: the others get the alerts of their own sources.
 */
export function alertTargets(
  alert: Pick<Condition, 'kind' | 'source'>,
  receivers: readonly {
    readonly name: string;
    readonly about: readonly ('changes' | 'alerts')[];
    readonly rules: { readonly sources?: readonly string[] | undefined };
  }[],
): readonly string[] {
  const { source } = alert;
  return receivers
    .filter(
      ({ about, rules: { sources } }) =>
        about.includes('alerts') &&
        (sources === undefined || (source === null ? !isShared(alert) : sources.includes(source))),
    )
    .map(({ name }) => name);
}
