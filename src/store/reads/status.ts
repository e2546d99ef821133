import type { Selectable } from 'kysely';
import { cursorWarningSeconds } from '../../contract/limits.js';
import { type Instant, instantFromMillis, millisOf } from '../../domain/instant.js';
import type { Clock } from '../../runtime/clock.js';
import type { TicksView } from '../schema.js';
import type { Ask } from './snapshot.js';
import type { SyncStatusView } from './views.js';

/**
 * `attention` needs a person, `failing` tries again by itself, `working` has not caught up yet. A source with records
 * in quarantine needs one too: it follows the feed, and is not what the platform holds.
 */
export type Health = 'ok' | 'working' | 'failing' | 'attention';

export interface SourceStatus extends SyncStatusView {
  readonly health: Health;
  readonly generation: number;
  /** Records set aside and not yet followed by a readable version. */
  readonly quarantine_open: number;
  /** Null while there is no position in the feed. */
  readonly cursor_age_seconds: number | null;
  /** The position has been the same for 60 days: within a month everything has to be listed again. */
  readonly cursor_old: boolean;
  /** Nobody looked for so long that nothing can be said about now: `ok` would be a guess. */
  readonly stale: boolean;
  /** Whole days until the platform may forget the position; negative once it may have. */
  readonly cursor_days_left: number | null;
  /** Newest first. */
  readonly ticks: readonly Selectable<TicksView>[];
}

export interface WaitingCounts {
  readonly pending: number;
  readonly given_up: number;
  /** Arrival of the oldest one pending. */
  readonly oldest_at: string | null;
}

export interface StatusDocument {
  readonly at: Instant;
  readonly health: Health;
  readonly sources: readonly SourceStatus[];
  readonly inbox: WaitingCounts;
  readonly notices: WaitingCounts;
  readonly erasures: {
    /** Identities erased from view whose bytes may still stand in the database. */
    readonly pending: number;
    readonly since: string | null;
    /** Removals not yet counted above: the next scrub takes them. */
    readonly residue: boolean;
  };
  /** Number of the newest change. */
  readonly change_seq: number;
}

/** Longer than this without a tick and nobody is following, unless the interval is as long. */
export const staleMillisDefault = 15 * 60_000;

export interface StatusWanted {
  readonly ticksMax?: number;
  readonly staleMillis?: number;
  /** Sources that should be there: one that never ran is told as such, after the others. */
  readonly configured?: readonly string[];
}

const secondMillis = 1_000;
const dayMillis = 86_400 * secondMillis;
const worst: readonly Health[] = ['attention', 'failing', 'working', 'ok'];

/** Everything `rosterd status` and a dashboard show, of one snapshot, so that its parts agree. */
export async function readStatus(
  ask: Ask,
  clock: Clock,
  { ticksMax = 5, staleMillis = staleMillisDefault, configured = [] }: StatusWanted = {},
): Promise<StatusDocument> {
  const now = clock.now();
  const sources: SourceStatus[] = [];
  for (const row of await ask<SyncStatusView>`SELECT * FROM sync_status ORDER BY source`)
    sources.push(await sourceStatus(ask, row, now, ticksMax, staleMillis));
  for (const name of configured)
    if (!sources.some(({ source }) => source === name)) sources.push(notStarted(name));
  const [newest] = await ask<{ seq: number | null }>`SELECT max(seq) AS seq FROM change_rows`;
  return {
    at: instantFromMillis(now),
    health: worst.find((health) => sources.some((source) => source.health === health)) ?? 'working',
    sources,
    inbox: waiting(
      await ask`SELECT state, count(*) AS count, min(received_at) AS oldest_at
                FROM webhook_inbox WHERE state IN ('pending', 'given_up') GROUP BY state`,
    ),
    notices: waiting(
      await ask`SELECT state, count(*) AS count, min(queued_at) AS oldest_at
                FROM notice_rows WHERE state IN ('pending', 'given_up') GROUP BY state`,
    ),
    erasures: await pendingErasures(ask),
    change_seq: newest?.seq ?? 0,
  };
}

async function sourceStatus(
  ask: Ask,
  row: SyncStatusView,
  now: number,
  ticksMax: number,
  staleMillis: number,
): Promise<SourceStatus> {
  const [source] = await ask<{ no: number; generation: number }>`
    SELECT no, generation FROM sources WHERE name = ${row.source}`;
  const { no = 0, generation = 0 } = source ?? {};
  const ticks = await ask<Selectable<TicksView>>`
    SELECT * FROM ticks WHERE source = ${row.source} ORDER BY tick DESC LIMIT ${ticksMax}`;
  const [quarantine] = await ask<{ open: number }>`
    SELECT count(*) AS open FROM quarantine_rows WHERE source_no = ${no} AND resolved_at IS NULL`;
  const open = quarantine?.open ?? 0;
  const age = since(row.cursor_saved_at, now, secondMillis);
  const health = healthOf(row);
  const stale = row.last_tick_at === null || now - millisOf(row.last_tick_at as Instant) > staleMillis;
  return {
    ...row,
    health: stale && health === 'ok' ? 'failing' : health === 'ok' && open > 0 ? 'attention' : health,
    stale,
    generation,
    quarantine_open: open,
    cursor_age_seconds: age,
    cursor_old: age !== null && age >= cursorWarningSeconds,
    cursor_days_left: until(row.cursor_expires_at, now, dayMillis),
    ticks,
  };
}

/** As the mirror will tell of it the moment it is first opened. */
function notStarted(source: string): SourceStatus {
  return {
    ...{ source, state: 'empty', meaning: 'not started', health: 'working', stale: false },
    ...{ readable: 0, rows: 0, rows_incoming: 0, pages_incoming: 0, generation: 0 },
    ...{ quarantined: 0, quarantine_open: 0, deletions_waiting: null, listing_started_at: null },
    ...{ complete_up_to: null, identity_included: null, history_from: null },
    ...{ cursor_saved_at: null, cursor_expires_at: null },
    ...{ cursor_age_seconds: null, cursor_old: false, cursor_days_left: null },
    ...{ last_tick_at: null, last_success_at: null, last_committed_at: null, last_outcome: null },
    ...{ last_error_code: null, last_error: null, last_error_at: null, retry_at: null, ticks: [] },
  };
}

/**
 * A source that failed its last attempt, or was told to wait, never reads as healthy, whatever state it is in. Neither
 * does one whose last attempt was cut short by a stop: it learned nothing, and those before it may have failed for hours.
 */
export function healthOf({ state, last_outcome }: Pick<SyncStatusView, 'state' | 'last_outcome'>): Health {
  if (state === 'halted' || state === 'held') return 'attention';
  if (last_outcome === 'failed') return 'failing';
  const learned = last_outcome !== 'stopped' && last_outcome !== 'waiting';
  return state === 'following' && learned ? 'ok' : 'working';
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
