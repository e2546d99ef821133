import type { OverallState } from '../../domain/overall-state.js';
import type { HealthReport } from '../../runtime/health-register.js';
import { type Followed, readFollowed } from './followed.js';
import { type Judgement, judgeSource, overallStateOf } from './judge-source.js';
import type { Ask } from './snapshot.js';
import type { SyncStatusView } from './views.js';

type FactsOfView = Pick<
  SyncStatusView,
  | 'source'
  | 'state'
  | 'meaning'
  | 'readable'
  | 'complete_up_to'
  | 'rows'
  | 'rows_incoming'
  | 'last_tick_at'
  | 'last_success_at'
  | 'last_committed_at'
  | 'last_outcome'
  | 'last_error_code'
  | 'last_error'
  | 'retry_at'
  | 'awaiting_deletion'
  | 'names_incomplete'
>;

/** A source with its judgement: what lists, counts, alerts and probes need of every source. */
export interface JudgedSource extends FactsOfView, Judgement {
  /** Records in quarantine without a later readable version. */
  readonly quarantine_open: number;
  /** When an operator paused the source; null when it is not paused. */
  readonly paused_at: string | null;
  readonly overall: OverallState;
  /** What the registry stores of a source that a follow rule created; null for a listed source. */
  readonly follow: Followed | null;
}

/** The longest normal time between two ticks when the configured interval is not known. */
const staleMillisDefault = 15 * 60_000;

export interface JudgeWanted {
  /** Returns the longest normal time between two ticks of one of so many sources. */
  readonly staleMillisOf?: (sources: number) => number;
  /**
   * The configured sources. One that never ran is listed too; one that neither is configured nor follows a rule counts
   * as not followed. Without this list every source counts as followed.
   */
  readonly configured?: readonly string[] | undefined;
  /** Sources that other daemons of the fleet work. */
  readonly elsewhere?: readonly string[];
  readonly problems?: readonly HealthReport[];
}

/**
 * Returns every source with its judgement, in the order of their names; those that never ran come last. A few statements
 * for any number of sources: columns of the view that are not named cost nothing.
 */
export async function readJudgedSources(
  ask: Ask,
  now: number,
  { staleMillisOf, configured, elsewhere = [], problems = [] }: JudgeWanted = {},
): Promise<readonly JudgedSource[]> {
  const rows = await ask<FactsOfView>`
    SELECT source, state, meaning, readable, complete_up_to, rows, rows_incoming, last_tick_at, last_success_at,
           last_committed_at, last_outcome, last_error_code, last_error, retry_at, awaiting_deletion, names_incomplete
    FROM sync_status ORDER BY source`;
  const pauses = new Map(
    (await ask<{ source: string; paused_at: string }>`SELECT source, paused_at FROM pauses`).map(
      ({ source, paused_at }) => [source, paused_at],
    ),
  );
  const quarantined = new Map(
    (
      await ask<{ source: string; open: number }>`
        SELECT s.name AS source, sum(q.times) AS open FROM quarantine_rows q JOIN sources s ON s.no = q.source_no
        WHERE q.resolved_at IS NULL GROUP BY s.name`
    ).map(({ source, open }) => [source, open]),
  );
  const followed = await readFollowed(ask);
  const open = [...followed.values()].filter(isFollowing).map(({ source }) => source);
  const staleMillis = staleMillisOf?.(new Set([...(configured ?? []), ...open]).size) ?? staleMillisDefault;
  const known = configured === undefined ? null : new Set([...configured, ...elsewhere]);
  const reports = new Map<string, HealthReport[]>();
  for (const report of problems)
    if (report.source !== undefined)
      reports.set(report.source, [...(reports.get(report.source) ?? []), report]);

  const judged = (row: FactsOfView): JudgedSource => {
    const paused = pauses.get(row.source) ?? null;
    const quarantineOpen = quarantined.get(row.source) ?? 0;
    const follow = followed.get(row.source) ?? null;
    const judgement = judgeSource(
      { ...row, quarantineOpen, paused },
      {
        now,
        staleMillis,
        followed: known === null || known.has(row.source) || isFollowing(follow),
        reports: reports.get(row.source) ?? [],
        disconnected: isFollowing(follow) ? null : follow,
      },
    );
    const facts = { ...row, ...judgement, quarantine_open: quarantineOpen, paused_at: paused, follow };
    return { ...facts, overall: overallStateOf(facts) };
  };

  const stored = new Set(rows.map(({ source }) => source));
  const newcomers = [...new Set([...(configured ?? []), ...followed.keys()])].filter(
    (name) => !stored.has(name),
  );
  return [
    ...rows.map(judged),
    ...newcomers.map((name) =>
      notStarted(name, pauses.get(name) ?? null, followed.get(name) ?? null, quarantined.get(name) ?? 0),
    ),
  ];
}

const isFollowing = (follow: Followed | null): boolean =>
  follow?.state === 'waiting' || follow?.state === 'connected';

/** Returns a source that is configured or followed but not in the mirror yet, or not any more. */
function notStarted(
  source: string,
  paused: string | null,
  follow: Followed | null,
  quarantineOpen: number,
): JudgedSource {
  const left = follow !== null && !isFollowing(follow);
  const facts = {
    source,
    state: 'empty',
    meaning: left ? follow.state : 'not started',
    health: left ? 'ok' : 'working',
    stale: false,
    followed: !left,
    concerns: [],
    readable: 0,
    complete_up_to: null,
    rows: 0,
    rows_incoming: 0,
    last_tick_at: null,
    last_success_at: null,
    last_committed_at: null,
    last_outcome: null,
    last_error_code: null,
    last_error: null,
    retry_at: null,
    awaiting_deletion: 0,
    names_incomplete: 0,
    quarantine_open: quarantineOpen,
    paused_at: paused,
    follow,
  } as const;
  return { ...facts, overall: overallStateOf(facts) };
}
