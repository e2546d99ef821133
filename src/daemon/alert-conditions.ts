import type { Config } from '../config/config.js';
import { counted } from '../domain/counted.js';
import { type FaultCode, reaction } from '../domain/fault.js';
import { type Instant, millisOf } from '../domain/instant.js';
import { alertKey, type Condition, type OpenAlert } from '../outbox/decide-alerts.js';
import type { JudgedStatus } from '../reading/judged-status.js';

export interface ConditionFacts {
  readonly status: Omit<JudgedStatus, 'staleMillis'>;
  /** Null for a mirror on a server. */
  readonly freeBytes: number | 'unknown' | null;
  /** By source: since when its ticks have failed, as far as this process has seen. */
  readonly failingSince: ReadonlyMap<string, number>;
  /** Since when the webhook endpoint could not be checked, as far as this process has seen. */
  readonly uncheckedSince: number | null;
}

export interface Found extends Condition {
  /** Whether the reason is only that something was not done in time. */
  readonly isOverdue?: true;
}

/** A shorter wait for the quota is part of normal work. */
const quotaWaitMillisMin = 10 * 60_000;
const minuteMillis = 60_000;
const megabyte = 1_048_576;

/** Returns the key of an after-sync hook in the health register. */
export const afterSyncProblem = (hook: string): string => `after_sync.${hook}`;

/** Returns what an operator must know, from the same facts that `rosterd status` shows. */
export function conditionsOf(
  { status, freeBytes, failingSince, uncheckedSince }: ConditionFacts,
  { failingMinutes, diskFreeMegabytes }: Config['alerts'],
  now: number,
): readonly Found[] {
  const { backup, exports, lake, problems } = status;
  const conditions: Found[] = status.sources.flatMap((source) =>
    conditionsOfSource(source, failingSince.get(source.source) ?? null, failingMinutes, now),
  );
  const failedLong = uncheckedSince !== null && now - uncheckedSince >= failingMinutes * minuteMillis;
  conditions.push(...conditionOfEndpoint(status.endpoint, failedLong));
  conditions.push(
    ...conditionOfFiles(
      problems,
      'backup',
      backup,
      `backup is overdue; the newest is of ${backup?.newest_at}`,
    ),
  );
  const hooks = problems.filter(({ key }) => key.startsWith(afterSyncProblem('')));
  if (hooks.length > 0)
    conditions.push({ kind: 'hook_failed', source: null, text: hooks.map(({ text }) => text).join('; ') });
  conditions.push(
    ...conditionOfFiles(
      problems,
      'export',
      exports,
      `export is overdue; the newest is of ${exports?.newest_at}`,
    ),
    ...conditionOfFiles(
      problems,
      'lake',
      lake,
      `sync of the lake is overdue; it was last brought up to date at ${lake?.synced_at}`,
    ),
  );
  if (typeof freeBytes === 'number' && freeBytes < diskFreeMegabytes * megabyte)
    conditions.push({
      kind: 'disk_low',
      source: null,
      text: `the disk of the database has ${Math.floor(freeBytes / megabyte)} MB free, less than ${diskFreeMegabytes} MB`,
    });
  return conditions;
}

/** A check that the next one may repair is reported only after it has failed for long. */
function conditionOfEndpoint(endpoint: JudgedStatus['endpoint'], failedLong: boolean): readonly Found[] {
  if (endpoint === null || endpoint.state === 'ok') return [];
  const { state, code, failingSince, message } = endpoint;
  const mayPass = ['wait', 'retry'].includes(reaction[code as FaultCode]);
  if (state === 'blocked' && failingSince === null && mayPass && !failedLong) return [];
  const what = state === 'blocked' ? 'cannot be checked' : `does not work (${state})`;
  const text = `the webhook endpoint ${what}: ${message ?? 'see rosterd status'}`;
  return [{ kind: 'endpoint_disabled', source: null, text }];
}

/** Returns the condition of files that are written by a schedule, if they could not be written or are overdue. */
function conditionOfFiles(
  problems: JudgedStatus['problems'],
  what: 'backup' | 'export' | 'lake',
  written: { readonly overdue: boolean } | null,
  overdueText: string,
): readonly Found[] {
  const condition = { kind: `${what}_failed`, source: null } as const;
  const problem = problems.find(({ key }) => key === what);
  if (problem !== undefined) return [{ ...condition, text: problem.text }];
  if (written?.overdue !== true) return [];
  return [{ ...condition, isOverdue: true, text: `the scheduled ${overdueText}` }];
}

function conditionsOfSource(
  one: JudgedStatus['sources'][number],
  failingSince: number | null,
  failingMinutes: number,
  now: number,
): Found[] {
  const { source, state, paused_at, overall } = one;
  const found: Found[] = [];
  // Its installation is revoked, which needs no person.
  if (overall === 'disconnected' || overall === 'erased') return found;
  const add = (kind: Condition['kind'], text: string, more: Pick<Found, 'isOverdue'> = {}) =>
    found.push({ kind, source, text: `${source}: ${text}`, ...more });
  if (state === 'halted') add('halted', `waits for a person: ${one.last_error ?? one.meaning}`);
  if (one.awaiting_deletion > 0)
    add(
      'held',
      `${counted(one.awaiting_deletion, 'row')} missing from the last listing, deletion held; to delete: rosterd sync --source ${source} --accept-deletions`,
    );
  if (one.quarantine_open > 0)
    add('quarantine', `${counted(one.quarantine_open, 'record')} could not be read and are in quarantine`);
  if (state === 'halted' || paused_at !== null) return found;
  const overdue = one.concerns.find(({ code }) => code === 'overdue' || code === 'clock_ahead');
  if (overdue !== undefined) add('stale', overdue.text, { isOverdue: true });
  if (failingSince !== null && now - failingSince >= failingMinutes * minuteMillis)
    add(
      'failing',
      `has been failing for ${Math.floor((now - failingSince) / minuteMillis)} minutes: ${one.last_error ?? one.meaning}`,
    );
  const retryAt = one.retry_at === null ? 0 : millisOf(one.retry_at as Instant);
  if (
    one.last_outcome === 'waiting' &&
    one.last_error_code === 'rate_limited' &&
    retryAt - now >= quotaWaitMillisMin
  )
    add('quota_exhausted', `the request quota is used up until ${one.retry_at}`);
  return found;
}

/** Backups, exports and the lake that are due begin within seconds of a start, and may take minutes. */
const filesMillis = 15 * minuteMillis;

export interface Watched {
  /** How long this process has watched. */
  readonly millis: number;
  /** By source: how long ago this process last saw it paused. */
  readonly pausedMillisAgo: ReadonlyMap<string, number>;
}

/**
 * Leaves out what is overdue because nothing ran before this process watched, or because its source was paused: it is
 * being done. It counts after the time that a running daemon has for it. What was reported before stays.
 */
export function withoutRests(
  found: readonly Found[],
  open: readonly Pick<Condition, 'kind' | 'source'>[],
  { millis, pausedMillisAgo }: Watched,
  staleMillis: number,
): readonly Condition[] {
  const reported = new Set(open.map(alertKey));
  const isReported = (one: Condition) => reported.has(alertKey(one)) || reported.has(one.kind);
  const hadTime = ({ source }: Condition) =>
    source === null
      ? millis >= filesMillis
      : Math.min(millis, pausedMillisAgo.get(source) ?? millis) >= staleMillis;
  return found
    .filter((one) => one.isOverdue !== true || isReported(one) || hadTime(one))
    .map(({ kind, source, text }) => ({ kind, source, text }));
}

/** Returns what was reported as failed before this process started, and is being tried again: it has not succeeded yet. */
export const triedAgain = <Open extends Condition>(
  open: readonly Open[],
  tried: ReadonlySet<string>,
): readonly Open[] => open.filter(({ kind }) => tried.has(kind.replace(/_failed$/, '')));

/** Returns what was reported of the disk, if its free space cannot be read now. */
export const undecided = <Open extends Condition>(
  open: readonly Open[],
  freeBytes: ConditionFacts['freeBytes'],
): readonly Open[] => (freeBytes === 'unknown' ? open.filter(({ kind }) => kind === 'disk_low') : []);

/**
 * Returns since when sources have failed that were reported as failing before this process watched: a restart ends no
 * failure. A shared alert names none, so it counts for all.
 */
export function failingBefore(
  { sources }: Pick<JudgedStatus, 'sources'>,
  open: readonly Pick<OpenAlert, 'kind' | 'source' | 'since'>[],
  failingMinutes: number,
  now: number,
): ReadonlyMap<string, number> {
  const since = new Map(
    open
      .filter(({ kind }) => kind === 'failing')
      .map((alert) => [alert.source, Math.min(millisOf(alert.since), now) - failingMinutes * minuteMillis]),
  );
  return new Map(
    sources.flatMap(({ source }) => {
      const begun = since.get(source) ?? since.get(null);
      return begun === undefined ? [] : [[source, begun] as const];
    }),
  );
}

/**
 * Returns since when each source is failing: since its first failure that this process saw after the last success. Time in
 * which nothing ran, before the start or during a pause, does not count. `before` is the previous result.
 */
export function failingSince(
  { sources }: Pick<JudgedStatus, 'sources'>,
  before: ReadonlyMap<string, number>,
  now: number,
): ReadonlyMap<string, number> {
  return new Map(
    sources
      .filter(
        ({ last_outcome, state, paused_at }) =>
          last_outcome === 'failed' && state !== 'halted' && paused_at === null,
      )
      .map(({ source, last_success_at }) => {
        const seen = before.get(source) ?? now;
        const success = last_success_at === null ? seen : millisOf(last_success_at as Instant);
        // A success between two looks ends the failure before it. One from the future was dated by a wrong clock.
        return [source, success > seen && success <= now ? success : Math.min(seen, now)];
      }),
  );
}

/** Returns since when the endpoint could not be checked. `before`: the previous result, or the time from `uncheckedBefore`. */
export function uncheckedSince(
  { endpoint }: Pick<JudgedStatus, 'endpoint'>,
  before: number | null,
  now: number,
): number | null {
  return endpoint?.state === 'blocked' ? Math.min(before ?? now, now) : null;
}

/** Returns since when it could not be checked if that was reported before this process watched: a restart ends no failure. */
export function uncheckedBefore(
  open: readonly Pick<OpenAlert, 'kind' | 'since'>[],
  failingMinutes: number,
  now: number,
): number | null {
  const alert = open.find(({ kind }) => kind === 'endpoint_disabled');
  return alert === undefined ? null : Math.min(millisOf(alert.since), now) - failingMinutes * minuteMillis;
}
