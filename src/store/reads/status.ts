import type { Selectable } from 'kysely';
import { type Instant, instantFromMillis, millisOf } from '../../domain/instant.js';
import { worstFirst } from '../../domain/overall-state.js';
import type { Clock } from '../../runtime/clock.js';
import type { HealthReport } from '../../runtime/health-register.js';
import { cursorWarningSeconds } from '../../wire/limits.js';
import type { TicksView } from '../view-schema.js';
import { withList } from './ask-list.js';
import { type Health, reportedHealth, worstOf } from './judge-source.js';
import type { Ask } from './snapshot.js';
import { countSources, type SourceCounts } from './source-counts.js';
import { type JudgedSource, type JudgeWanted, readJudgedSources } from './source-facts.js';
import type { SyncStatusView } from './views.js';

export type { Health } from './judge-source.js';
export type { SourceCounts } from './source-counts.js';

export interface SourceStatus extends SyncStatusView, JudgedSource {
  readonly generation: number;
  /** About how many records the first listing in progress will read; null where the platform does not say. */
  readonly rows_expected: number | null;
  /** Null while there is no cursor. */
  readonly cursor_age_seconds: number | null;
  /** Whether the cursor has not moved for 60 days: it expires within a month, and then everything is listed again. */
  readonly cursor_old: boolean;
  /** Why names are incomplete; null when they are complete. */
  readonly names_note: string | null;
  /** Whole days until the cursor may expire; negative afterwards. */
  readonly cursor_days_left: number | null;
  /** Newest first; empty in a truncated document. */
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
  /** Figures over all sources. */
  readonly counts: SourceCounts;
  /** Whether `sources` has only the worst of them, because there are more than a document describes. */
  readonly truncated: boolean;
  /** By name; the worst first when `truncated`. */
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

export interface StatusWanted extends JudgeWanted {
  readonly ticksMax?: number;
  /** How many sources `sources` may describe. With more, the worst are described, without ticks. Default: all. */
  readonly sourcesMax?: number;
  /** Describes only these sources, with their ticks; the counts and the health still cover all. */
  readonly only?: readonly string[];
}

const secondMillis = 1_000;
const dayMillis = 86_400 * secondMillis;

/** A status, and what estimates in it are made of. */
export interface StatusRead extends StatusDocument {
  /** All sources whose listing is in progress, also those that `sources` does not describe. */
  readonly listing: readonly string[];
}

/** Returns everything that `rosterd status` and the dashboard show, from one snapshot. */
export async function readStatus(ask: Ask, clock: Clock, wanted: StatusWanted = {}): Promise<StatusRead> {
  const now = clock.now();
  const { problems = [], sourcesMax = Number.POSITIVE_INFINITY, only, ticksMax = ticksUsual } = wanted;
  const judged = await readJudgedSources(ask, now, wanted);
  const truncated = only === undefined && judged.length > sourcesMax;
  const described =
    only !== undefined
      ? judged.filter(({ source }) => only.includes(source))
      : truncated
        ? judged.toSorted(worstFirst).slice(0, sourcesMax)
        : judged;
  const sources = await describeSources(ask, described, now, truncated ? 0 : ticksMax);
  const [newest] = await ask<{ seq: number | null }>`SELECT max(seq) AS seq FROM change_rows`;
  return {
    at: instantFromMillis(now),
    health: worstOf([
      ...(judged.length === 0 ? (['working'] as const) : judged.map(({ health }) => health)),
      ...problems.map(reportedHealth),
    ]),
    counts: countSources(judged),
    truncated,
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
    problems: shortProblems(problems, sourcesMax),
    listing: judged.filter(isListing).map(({ source }) => source),
  };
}

const isListing = ({ state, followed, paused_at }: JudgedSource): boolean =>
  followed && paused_at === null && (state === 'listing' || state === 'relisting');

/** Every source can have a problem of its own: those of the process come first, and of the others as many as fit. */
const shortProblems = (problems: readonly HealthReport[], max: number): readonly HealthReport[] =>
  problems.length <= max
    ? problems
    : [
        ...problems.filter(({ source }) => source === undefined),
        ...problems.filter(({ source }) => source !== undefined).slice(0, max),
      ];

const ticksUsual = 5;
/** Names in one statement: below the limits of both databases. */
const namesPerStatement = 500;

interface FullRow extends SyncStatusView {
  readonly generation: number;
  readonly names_from: number | null;
}

/** Returns these sources with every column, in the same order. */
async function describeSources(
  ask: Ask,
  judged: readonly JudgedSource[],
  now: number,
  ticksMax: number,
): Promise<readonly SourceStatus[]> {
  const names = judged.map(({ source }) => source);
  const rows = new Map<string, FullRow>();
  for (let from = 0; from < names.length; from += namesPerStatement) {
    const some = names.slice(from, from + namesPerStatement);
    const text = withList(
      `SELECT v.*, s.generation, s.names_from_generation AS names_from
       FROM sync_status v JOIN sources s ON s.name = v.source WHERE s.name IN (`,
      some.length,
      ')',
    );
    for (const row of await ask<FullRow>(text, ...some)) rows.set(row.source, row);
  }
  const expected = await expectedRows(ask, [...rows.values()]);
  const described: SourceStatus[] = [];
  for (const one of judged) {
    const row = rows.get(one.source) ?? { ...one, ...unstarted };
    const { names_from, ...columns } = row;
    const ticks =
      ticksMax === 0 || row.last_tick_at === null
        ? []
        : await ask<Selectable<TicksView>>`
            SELECT * FROM ticks WHERE source = ${one.source} ORDER BY tick DESC LIMIT ${ticksMax}`;
    const age = since(row.cursor_saved_at, now, secondMillis);
    described.push({
      ...columns,
      ...one,
      rows_expected: expected.get(one.source) ?? null,
      names_note: namesNote(row, names_from !== null && row.generation >= names_from),
      cursor_age_seconds: age,
      cursor_old: age !== null && age >= cursorWarningSeconds,
      cursor_days_left: until(row.cursor_expires_at, now, dayMillis),
      ticks,
    });
  }
  return described;
}

/**
 * Returns what the first listings in progress expect, by source. All columns are read, because the tables of an earlier version
 * lack this one.
 */
async function expectedRows(ask: Ask, rows: readonly FullRow[]): Promise<ReadonlyMap<string, number | null>> {
  const names = rows.flatMap((row) =>
    row.readable === 0 && row.listing_started_at !== null ? [row.source] : [],
  );
  const expected = new Map<string, number | null>();
  for (let from = 0; from < names.length; from += namesPerStatement) {
    const some = names.slice(from, from + namesPerStatement);
    const text = withList('SELECT * FROM sources WHERE name IN (', some.length, ')');
    for (const row of await ask<{ name: string; rows_expected?: number | null }>(text, ...some))
      expected.set(row.name, row.rows_expected ?? null);
  }
  return expected;
}

/** The further columns of a source that is not in the mirror. */
const unstarted = {
  pages_incoming: 0,
  generation: 0,
  names_from: null,
  quarantined: 0,
  deletions_waiting: null,
  listing_started_at: null,
  identity_included: null,
  history_from: null,
  collections_listed_at: null,
  collections_problem: null,
  cursor_saved_at: null,
  cursor_expires_at: null,
  last_error_at: null,
} as const;

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
