import { type Instant, millisOf } from '../../domain/instant.js';
import type { OverallState } from '../../domain/overall-state.js';
import type { HealthReport } from '../../runtime/health-register.js';
import type { Followed } from './followed.js';
import type { SyncStatusView } from './views.js';

/**
 * `attention` needs a person, `failing` retries by itself, `working` has not caught up yet. A source with records in
 * quarantine, or with rows that await deletion, needs a person too: it follows the feed but differs from the platform.
 * A source with incomplete names is `working`: a listing completes them without help.
 */
export type Health = 'ok' | 'working' | 'failing' | 'attention';

/** In order, worst first. */
const healths: readonly Health[] = ['attention', 'failing', 'working', 'ok'];

export const worstOf = (some: readonly Health[]): Health =>
  healths.find((health) => some.includes(health)) ?? 'ok';

/** Why a source is in a worse or less certain state than its row in the database says. */
export type ConcernCode =
  | 'unfollowed'
  | 'disconnected'
  | 'paused'
  | 'overdue'
  | 'clock_ahead'
  | 'versions_ahead'
  | 'feed_behind'
  | 'feed_ahead'
  | 'daemon';

export interface Concern {
  readonly code: ConcernCode;
  /** A sentence for people, without its full stop. */
  readonly text: string;
}

export interface Judgement {
  readonly health: Health;
  /** Whether the last tick is overdue or dated in the future: `ok` would be a guess. */
  readonly stale: boolean;
  /** Whether a configuration names the source: the caller's, or that of another daemon of the fleet. */
  readonly followed: boolean;
  readonly concerns: readonly Concern[];
}

export interface SourceFacts
  extends HealthFacts,
    Pick<
      SyncStatusView,
      'last_tick_at' | 'last_success_at' | 'last_committed_at' | 'retry_at' | 'complete_up_to'
    > {
  readonly quarantineOpen: number;
  /** When an operator paused the source; null when it is not paused. */
  readonly paused: string | null;
}

export interface Surroundings {
  readonly now: number;
  /** The longest normal time between two ticks. */
  readonly staleMillis: number;
  readonly followed: boolean;
  /** What the running daemon reports of this source. */
  readonly reports: readonly HealthReport[];
  /** Set for a source whose installation a follow rule found revoked. It does not sync, which is no fault. */
  readonly disconnected?: Pick<Followed, 'reason' | 'disconnected_at' | 'erase_after' | 'erased_at'> | null;
}

/** The tolerated difference between the clocks of hosts. A time further ahead was written by a wrong clock. */
const aheadMillisMax = 60_000;
/** Seven days: of a quiet company, a platform may report the time of its last publication instead of the present one. */
const feedBehindMillisMax = 7 * 24 * 60 * 60_000;
/** Two years: no real time. The time of a sandbox may be months ahead. */
const feedAheadMillisMax = 2 * 365 * 24 * 60 * 60_000;
/** The longest time for which the scheduler really sleeps; `retry_at` may be later, for example during quiet hours. */
const retryMillisMax = 4 * 3_600_000;

/**
 * Returns the health of a source. `status`, `/status.json`, `/healthz`, the metrics, the dashboard and `doctor` all
 * show this judgement. The row in the database decides unless the surroundings show something worse.
 */
export function judgeSource(facts: SourceFacts, surroundings: Surroundings): Judgement {
  const { followed, reports, disconnected = null } = surroundings;
  if (disconnected !== null)
    return {
      health: 'ok',
      stale: false,
      followed: false,
      concerns: [{ code: 'disconnected', text: disconnectedText(disconnected) }],
    };
  const concerns = concernsOf(facts, surroundings);
  const stale = concerns.some(({ code }) => code === 'overdue' || code === 'clock_ahead');
  const misses = concerns.some(({ code }) => code === 'feed_behind' || code === 'feed_ahead');
  const own = healthOf(facts);
  const health = worstOf([
    own === 'ok' && (facts.quarantineOpen > 0 || misses) ? 'attention' : own,
    ...(facts.paused === null ? [] : (['working'] as const)),
    ...(stale && own === 'ok' ? (['failing'] as const) : []),
    ...(followed ? [] : (['attention'] as const)),
    ...reports.map(reportedHealth),
  ]);
  return { health, stale, followed, concerns };
}

/** Says since when and why a source is disconnected, and when its rows are erased. */
function disconnectedText({
  reason,
  disconnected_at,
  erase_after,
  erased_at,
}: NonNullable<Surroundings['disconnected']>): string {
  const why = reason === null ? '' : ` (${reason.replaceAll('_', ' ')})`;
  const since = `disconnected since ${disconnected_at ?? 'an unknown time'}${why}`;
  if (erased_at !== null) return `${since}; its rows were erased at ${erased_at}`;
  return erase_after === null
    ? `${since}; its rows stay`
    : `${since}; its rows are erased after ${erase_after}`;
}

export const reportedHealth = ({ severity }: Pick<HealthReport, 'severity'>): Health =>
  severity === 'ill' ? 'failing' : 'attention';

/**
 * Returns the health that the row alone shows. A source whose last tick failed or had to wait is never healthy. Neither
 * is one whose last tick was stopped early: it learned nothing, and earlier ticks may have failed for hours.
 */
export function healthOf({ state, last_outcome, awaiting_deletion, names_incomplete }: HealthFacts): Health {
  if (state === 'halted') return 'attention';
  if (last_outcome === 'failed') return 'failing';
  const learned = last_outcome !== 'stopped' && last_outcome !== 'waiting';
  if (state !== 'following' || !learned) return 'working';
  if (awaiting_deletion > 0) return 'attention';
  return names_incomplete === 1 ? 'working' : 'ok';
}

type HealthFacts = Pick<SyncStatusView, 'state' | 'last_outcome' | 'awaiting_deletion' | 'names_incomplete'>;

/** Returns whether a time is in the future, beyond the tolerated clock difference. */
export const isAhead = (time: string | null, now: number): boolean =>
  time !== null && millisOf(time as Instant) - now > aheadMillisMax;

function concernsOf(facts: SourceFacts, surroundings: Surroundings): readonly Concern[] {
  const { now, followed, reports } = surroundings;
  const { last_tick_at, last_committed_at } = facts;
  const concerns: Concern[] = reports.map(({ text }) => ({ code: 'daemon', text }));
  if (facts.paused !== null)
    concerns.push({ code: 'paused', text: `paused since ${facts.paused}: rosterd resume` });
  if (!followed)
    concerns.push({
      code: 'unfollowed',
      text: 'not in the configuration: it is not synced, and its rows get old',
    });
  else if (isAhead(last_tick_at, now))
    concerns.push({
      code: 'clock_ahead',
      text: `its last tick is dated ${last_tick_at}, which is in the future: a clock was wrong. The next tick corrects it; is \`rosterd run\` running?`,
    });
  else if (facts.paused === null && isOverdue(facts, surroundings))
    concerns.push({ code: 'overdue', text: 'its next tick is overdue: is `rosterd run` running?' });
  const misplaced = misplacedFeed(facts, now);
  if (misplaced !== null) concerns.push(misplaced);
  // Versions never go back, so no tick corrects it; the health does not depend on it.
  if (isAhead(last_committed_at, now))
    concerns.push({
      code: 'versions_ahead',
      text: `its newest versions are dated ${last_committed_at}, by a clock that was ahead: as-of a time before shows what was there before them`,
    });
  return concerns;
}

/**
 * Returns a concern when the platform's own "complete up to" cannot be right: no successful tick moves it, it went
 * back, or it is in the far future. The time of the last success is compared and not this moment: an outage is another
 * concern. While a listing runs it stands still.
 */
function misplacedFeed(
  { state, last_outcome, last_success_at, complete_up_to }: SourceFacts,
  now: number,
): Concern | null {
  if (complete_up_to === null) return null;
  const through = millisOf(complete_up_to as Instant);
  if (!(through - now <= feedAheadMillisMax))
    return {
      code: 'feed_ahead',
      text: `the platform says that its data is complete up to ${complete_up_to}, which is in the future: how complete the mirror is, is unknown. Compare it: rosterd verify`,
    };
  if (state !== 'following' || last_outcome !== 'done' || last_success_at === null) return null;
  if (isAhead(last_success_at, now)) return null;
  if (millisOf(last_success_at as Instant) - through <= feedBehindMillisMax) return null;
  return {
    code: 'feed_behind',
    text: `ticks succeed, but the platform says that its data is complete only up to ${complete_up_to}: it may publish no changes. Compare it: rosterd verify`,
  };
}

/** A recorded wait (a backoff, a spent quota) and a page committed by a long tick both postpone the next tick. */
function isOverdue(
  { last_tick_at, last_committed_at, retry_at }: SourceFacts,
  { now, staleMillis }: Surroundings,
): boolean {
  if (last_tick_at === null) return true;
  const ticked = millisOf(last_tick_at as Instant);
  const waited = retry_at === null ? 0 : millisOf(retry_at as Instant) - ticked;
  const committed = last_committed_at === null ? ticked : millisOf(last_committed_at as Instant);
  const seen = Math.max(
    ticked,
    committed - now > aheadMillisMax ? ticked : committed,
    ticked + Math.min(waited, retryMillisMax),
  );
  // Also true for a time that cannot be read.
  return !(now - seen <= staleMillis);
}

export interface OverallFacts {
  readonly state: string;
  readonly last_outcome: string | null;
  readonly health: Health;
  readonly stale: boolean;
  readonly paused_at: string | null;
  readonly follow: Pick<Followed, 'state'> | null;
}

/** Returns the overall state of a judged source. */
export function overallStateOf(source: OverallFacts): OverallState {
  const { follow, health } = source;
  if (follow?.state === 'erased' || follow?.state === 'disconnected') return follow.state;
  if (source.state === 'halted') return 'halted';
  if (source.paused_at !== null) return 'paused';
  if (source.last_outcome === 'failed') return 'failing';
  if (source.stale) return 'stale';
  if (health === 'ok') return 'fine';
  return health === 'working' ? 'waiting' : health;
}
