import type { Selectable } from 'kysely';
import { type Instant, instantFromMillis, millisOf } from '../../domain/instant.js';
import type { Clock } from '../../runtime/clock.js';
import type { HealthReport } from '../../runtime/health-register.js';
import { cursorWarningSeconds } from '../../wire/limits.js';
import type { TicksView } from '../schema.js';
import { type Concern, type Health, judgeSource, reportedHealth, worstOf } from './judge-source.js';
import type { Ask } from './snapshot.js';
import type { SyncStatusView } from './views.js';

export type { Health } from './judge-source.js';

export interface SourceStatus extends SyncStatusView {
  readonly health: Health;
  readonly generation: number;
  /** Records in quarantine without a later readable version. */
  readonly quarantine_open: number;
  /** Null while there is no cursor. */
  readonly cursor_age_seconds: number | null;
  /** Whether the cursor has not moved for 60 days: it expires within a month, and then everything is listed again. */
  readonly cursor_old: boolean;
  /** When an operator paused the source; null when it is not paused. */
  readonly paused_at: string | null;
  /** Why names are incomplete; null when they are complete. */
  readonly names_note: string | null;
  /** Whether the last tick is overdue or dated in the future, so that the current state is unknown. */
  readonly stale: boolean;
  /** Whether a configuration names the source. */
  readonly followed: boolean;
  /** Why the source is in a worse state than its row says, for people. */
  readonly concerns: readonly Concern[];
  /** Whole days until the cursor may expire; negative afterwards. */
  readonly cursor_days_left: number | null;
  /** Newest first. */
  readonly ticks: readonly Selectable<TicksView>[];
}

export interface WaitingCounts {
  readonly pending: number;
  readonly given_up: number;
  /** When the oldest pending one arrived. */
  readonly oldest_at: string | null;
}

export interface StatusDocument {
  readonly at: Instant;
  readonly health: Health;
  readonly sources: readonly SourceStatus[];
  readonly inbox: WaitingCounts;
  readonly notices: WaitingCounts;
  /** Messages about alerts, which are in `alert_rows`. */
  readonly alerts: WaitingCounts;
  readonly erasures: {
    /** Erased identities whose bytes may still be in the database. */
    readonly pending: number;
    readonly since: string | null;
    /** Whether replaced values, not counted above, wait for the next scrub. */
    readonly residue: boolean;
  };
  /** The number of the newest change. */
  readonly change_seq: number;
  /** What running daemons report about themselves, including what the database could not store. */
  readonly problems: readonly HealthReport[];
}

/** The longest normal time between two ticks when the configured interval is not known. */
export const staleMillisDefault = 15 * 60_000;

export interface StatusWanted {
  readonly ticksMax?: number;
  readonly staleMillis?: number;
  /**
   * The configured sources. One that never ran is listed after the others; one that is not configured counts as not
   * followed. Without this list every source counts as followed.
   */
  readonly configured?: readonly string[] | undefined;
  /** Sources that other daemons of the fleet work. */
  readonly elsewhere?: readonly string[];
  readonly problems?: readonly HealthReport[];
}

const secondMillis = 1_000;
const dayMillis = 86_400 * secondMillis;

/** Returns everything that `rosterd status` and the dashboard show, from one snapshot. */
export async function readStatus(ask: Ask, clock: Clock, wanted: StatusWanted = {}): Promise<StatusDocument> {
  const now = clock.now();
  const { problems = [] } = wanted;
  const pauses = new Map(
    (await ask<{ source: string; paused_at: string }>`SELECT source, paused_at FROM pauses`).map(
      ({ source, paused_at }) => [source, paused_at],
    ),
  );
  const sources: SourceStatus[] = [];
  for (const row of await ask<SyncStatusView>`SELECT * FROM sync_status ORDER BY source`)
    sources.push(await sourceStatus(ask, row, now, wanted, pauses.get(row.source) ?? null));
  for (const name of wanted.configured ?? [])
    if (!sources.some(({ source }) => source === name))
      sources.push(notStarted(name, pauses.get(name) ?? null));
  const [newest] = await ask<{ seq: number | null }>`SELECT max(seq) AS seq FROM change_rows`;
  return {
    at: instantFromMillis(now),
    health: worstOf([
      ...(sources.length === 0 ? (['working'] as const) : sources.map(({ health }) => health)),
      ...problems.map(reportedHealth),
    ]),
    sources,
    inbox: waiting(
      await ask`SELECT state, count(*) AS count, min(received_at) AS oldest_at
                FROM webhook_inbox WHERE state IN ('pending', 'given_up') GROUP BY state`,
    ),
    notices: waiting(
      await ask`SELECT state, count(*) AS count, min(queued_at) AS oldest_at
                FROM notice_rows WHERE state IN ('pending', 'given_up') GROUP BY state`,
    ),
    alerts: waiting(
      await ask`SELECT state, count(*) AS count, min(queued_at) AS oldest_at
                FROM alert_rows WHERE state IN ('pending', 'given_up') GROUP BY state`,
    ),
    erasures: await pendingErasures(ask),
    change_seq: newest?.seq ?? 0,
    problems,
  };
}

async function sourceStatus(
  ask: Ask,
  row: SyncStatusView,
  now: number,
  { ticksMax = 5, staleMillis = staleMillisDefault, configured, elsewhere = [], problems = [] }: StatusWanted,
  paused: string | null,
): Promise<SourceStatus> {
  const [source] = await ask<{ no: number; generation: number; names_from: number | null }>`
    SELECT no, generation, names_from_generation AS names_from FROM sources WHERE name = ${row.source}`;
  const { no = 0, generation = 0, names_from = null } = source ?? {};
  const ticks = await ask<Selectable<TicksView>>`
    SELECT * FROM ticks WHERE source = ${row.source} ORDER BY tick DESC LIMIT ${ticksMax}`;
  const [quarantine] = await ask<{ open: number }>`
    SELECT coalesce(sum(times), 0) AS open FROM quarantine_rows WHERE source_no = ${no} AND resolved_at IS NULL`;
  const open = quarantine?.open ?? 0;
  const age = since(row.cursor_saved_at, now, secondMillis);
  const judgement = judgeSource(
    { ...row, quarantineOpen: open, paused },
    {
      now,
      staleMillis,
      followed: configured === undefined || [...configured, ...elsewhere].includes(row.source),
      reports: problems.filter(({ source: concerned }) => concerned === row.source),
    },
  );
  return {
    ...row,
    ...judgement,
    paused_at: paused,
    generation,
    names_note: namesNote(row, names_from !== null && generation >= names_from),
    quarantine_open: open,
    cursor_age_seconds: age,
    cursor_old: age !== null && age >= cursorWarningSeconds,
    cursor_days_left: until(row.cursor_expires_at, now, dayMillis),
    ticks,
  };
}

/** Returns the status of a source that is configured but not in the mirror yet. */
function notStarted(source: string, paused: string | null): SourceStatus {
  return {
    source,
    state: 'empty',
    meaning: 'not started',
    health: 'working',
    stale: false,
    followed: true,
    paused_at: paused,
    concerns: [],
    readable: 0,
    rows: 0,
    rows_incoming: 0,
    pages_incoming: 0,
    generation: 0,
    quarantined: 0,
    quarantine_open: 0,
    deletions_waiting: null,
    listing_started_at: null,
    complete_up_to: null,
    identity_included: null,
    history_from: null,
    awaiting_deletion: 0,
    names_incomplete: 0,
    names_note: null,
    collections_listed_at: null,
    collections_problem: null,
    cursor_saved_at: null,
    cursor_expires_at: null,
    cursor_age_seconds: null,
    cursor_old: false,
    cursor_days_left: null,
    last_tick_at: null,
    last_success_at: null,
    last_committed_at: null,
    last_outcome: null,
    last_error_code: null,
    last_error: null,
    last_error_at: null,
    retry_at: null,
    ticks: [],
  };
}

/** `completes`: the running listing began after the grant was restored, so that its end completes the names. */
function namesNote(row: SyncStatusView, completes: boolean): string | null {
  if (row.names_incomplete === 0) return null;
  const incomplete = 'names are incomplete:';
  if (row.state === 'halted') return `${incomplete} re-listing begins once the source goes on`;
  if (row.state !== 'relisting' && row.state !== 'listing')
    return `${incomplete} re-listing begins by itself with one of the next ticks`;
  if (!completes) return `${incomplete} re-listing follows the listing under way`;
  if (row.last_error_code === 'rate_limited' && row.retry_at !== null)
    return `${incomplete} re-listing waits for the quota until ${row.retry_at}`;
  return `${incomplete} re-listing is under way`;
}

function since(time: string | null, now: number, unit: number): number | null {
  return time === null ? null : Math.floor((now - millisOf(time as Instant)) / unit);
}

function until(time: string | null, now: number, unit: number): number | null {
  return time === null ? null : Math.floor((millisOf(time as Instant) - now) / unit);
}

interface StateCount {
  readonly state: string;
  readonly count: number;
  readonly oldest_at: string;
}

function waiting(counts: readonly StateCount[]): WaitingCounts {
  const of = (state: string) => counts.find((row) => row.state === state);
  return {
    pending: of('pending')?.count ?? 0,
    given_up: of('given_up')?.count ?? 0,
    oldest_at: of('pending')?.oldest_at ?? null,
  };
}

async function pendingErasures(ask: Ask): Promise<StatusDocument['erasures']> {
  const [row] = await ask<{ pending: number; since: string | null }>`
    SELECT count(*) AS pending, min(invisible_at) AS since FROM erasures WHERE scrubbed_at IS NULL`;
  const residue = await ask`SELECT 1 AS there FROM identity_residue`;
  return { pending: row?.pending ?? 0, since: row?.since ?? null, residue: residue.length > 0 };
}
