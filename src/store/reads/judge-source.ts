import { type Instant, millisOf } from '../../domain/instant.js';
import type { HealthReport } from '../../runtime/health-register.js';
import type { SyncStatusView } from './views.js';

/**
 * `attention` needs a person, `failing` retries by itself, `working` has not caught up yet. A source with records in
 * quarantine, or with rows that await deletion, needs a person too: it follows the feed, and differs from what the
 * platform holds. One whose names are incomplete is working: a listing brings them by itself.
 */
export type Health = 'ok' | 'working' | 'failing' | 'attention';

/** From the worst to the best. */
export const healths: readonly Health[] = ['attention', 'failing', 'working', 'ok'];

export const worstOf = (some: readonly Health[]): Health =>
  healths.find((health) => some.includes(health)) ?? 'ok';

/** Why a source is worse, or less certain, than its own row in the database says. */
export type ConcernCode = 'unfollowed' | 'overdue' | 'clock_ahead' | 'versions_ahead' | 'daemon';

export interface Concern {
  readonly code: ConcernCode;
  /** A sentence without its full stop, for people. */
  readonly text: string;
}

export interface Judgement {
  readonly health: Health;
  /** The last tick is overdue, or its time cannot be true: `ok` would be a guess. */
  readonly stale: boolean;
  /** Whether a configuration names it: that of the asker, or that of another daemon of the fleet. */
  readonly followed: boolean;
  readonly concerns: readonly Concern[];
}

export interface SourceFacts
  extends HealthFacts,
    Pick<SyncStatusView, 'last_tick_at' | 'last_committed_at' | 'retry_at'> {
  readonly quarantineOpen: number;
}

export interface Surroundings {
  readonly now: number;
  /** The longest time from one tick to the next that is still usual. */
  readonly staleMillis: number;
  readonly followed: boolean;
  /** What the running daemon reports of this source. */
  readonly reports: readonly HealthReport[];
}

/** Clocks of several hosts differ by this much; a time further ahead was written under a clock that was wrong. */
export const aheadMillisMax = 60_000;
/** No wait that a tick wrote down is longer: a listing that met a 410 again and again. */
const retryMillisMax = 4 * 3_600_000;

/**
 * The one judgement of a source: `status`, `/status.json`, `/healthz`, the metrics, the dashboard and `doctor` all show
 * this. What the row says counts as long as nothing here is known to be worse.
 */
export function judgeSource(facts: SourceFacts, surroundings: Surroundings): Judgement {
  const { followed, reports } = surroundings;
  const concerns = concernsOf(facts, surroundings);
  const stale = concerns.some(({ code }) => code === 'overdue' || code === 'clock_ahead');
  const own = healthOf(facts);
  const health = worstOf([
    own === 'ok' && facts.quarantineOpen > 0 ? 'attention' : own,
    ...(stale && own === 'ok' ? (['failing'] as const) : []),
    ...(followed ? [] : (['attention'] as const)),
    ...reports.map(reportedHealth),
  ]);
  return { health, stale, followed, concerns };
}

export const reportedHealth = ({ severity }: Pick<HealthReport, 'severity'>): Health =>
  severity === 'ill' ? 'failing' : 'attention';

/**
 * A source that failed its last attempt, or was told to wait, never reads as healthy, whatever state it is in. Neither
 * does one whose last attempt was cut short by a stop: it learned nothing, and those before it may have failed for hours.
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

/** A time that no clock of ours can have shown yet. */
export const isAhead = (time: string | null, now: number): boolean =>
  time !== null && millisOf(time as Instant) - now > aheadMillisMax;

function concernsOf(facts: SourceFacts, surroundings: Surroundings): readonly Concern[] {
  const { now, followed, reports } = surroundings;
  const { last_tick_at, last_committed_at } = facts;
  const concerns: Concern[] = reports.map(({ text }) => ({ code: 'daemon', text }));
  if (!followed)
    concerns.push({
      code: 'unfollowed',
      text: 'not in the configuration: nobody follows it, what is shown gets old',
    });
  else if (isAhead(last_tick_at, now))
    concerns.push({
      code: 'clock_ahead',
      text: `its last tick is dated ${last_tick_at}, which is in the future: a clock was wrong. The next tick corrects it; is \`rosterd run\` running?`,
    });
  else if (isOverdue(facts, surroundings))
    concerns.push({ code: 'overdue', text: 'its next tick is overdue: is `rosterd run` running?' });
  // No tick can correct it, since versions never go back, and nothing of what is shown now depends on it.
  if (isAhead(last_committed_at, now))
    concerns.push({
      code: 'versions_ahead',
      text: `its newest versions are dated ${last_committed_at}, by a clock that was ahead: as-of a time before shows what was there before them`,
    });
  return concerns;
}

/** A wait that the last tick wrote down counts, be it a backoff or a spent quota; so does a page of a long tick. */
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
    waited > 0 && waited <= retryMillisMax ? ticked + waited : ticked,
  );
  return now - seen > staleMillis;
}
