import { defined } from '../domain/defined.js';
import type { Position } from '../domain/position.js';
import { afterCheck, unchecked } from './grant-check.js';
import { afterTick, stretched } from './idle-stretch.js';
import type { Trigger } from './ports.js';
import { afterRecheck } from './recheck-spacing.js';
import type {
  Covered,
  Schedule,
  Scheduled,
  ScheduledTick,
  ScheduleEffect,
  ScheduleEvent,
  ScheduleRules,
  TickEnded,
} from './schedule-state.js';
import { isUnansweredRetry } from './tick-mode.js';
import type { TickAsk } from './tick-parts.js';

/*
 * When the ticks of one source run, as a pure function: from the state and the event that just happened to the next
 * state and the effects.
 *
 *     waiting ─ due ─▶ queued ─ slot free ─▶ running ─ ended ─▶ waiting
 *        ▲                └─ nothing left to do ─┘
 *
 * At most one tick is queued or running. Nudges are a flag, not a queue: a queued tick covers the nudges that arrive
 * while it waits, and nudges that arrive while it runs cause exactly one more tick, however many there were. As the
 * request quota runs short, their ticks are spaced out: see `webhookSpacing`.
 *
 * All times are on the monotonic clock: setting the wall clock back must not lengthen a wait.
 */

const none: ScheduledTick = { kind: 'none' };

/** Minimum time between two wake-ups of a healthy source when the database comes back. */
const wokenMillisMin = 15_000;

/** Jitter of a quarter of the interval, up or down, so that sources started together drift apart. */
export const jitterShare = 0.25;

/** A webhook earns a halted source one retry an hour. `decide` enforces the same limit for every caller. */
const haltedNudgeMillis = 60 * 60_000;
/**
 * How often a halted source is opened to see whether another process ended its halt. This sends no request to the
 * platform.
 */
const haltedLookMillis = 5 * 60_000;

/**
 * Longest wait that can be legitimate: the hourly quota, or the spacing of listings after a 410. A later retry time
 * came from a clock that is ahead, ours or the platform's.
 */
const retryMillisMax = 4 * 60 * 60_000;
/** A retry time in the past, from a platform whose clock is behind ours, must not make a source spin. */
const retryMillisMin = 1000;

/** Returns the state and the effects after an event. Throws when the event cannot happen in this state. */
export function schedule(
  state: Schedule,
  event: ScheduleEvent,
  now: number,
  rules: ScheduleRules,
): Scheduled {
  switch (event.kind) {
    case 'started':
      return started(state, event, now);
    case 'due_within':
      return dueWithin(state, event, now);
    case 'left':
      return stilled({ ...state, follows: 'elsewhere', nudged: false, recheck: false }, []);
    case 'closed':
      return stilled({ ...state, closed: true }, [{ kind: 'cut' }]);
    case 'paused':
      return stilled({ ...state, paused: true }, [{ kind: 'cut' }]);
    case 'resumed':
      // Due at once: the pause may have lasted for days.
      return state.paused
        ? woken({ ...state, paused: false, timerDue: now, nudgeDue: state.halted ? state.nudgeDue : now })
        : unchanged(state);
    case 'nudged':
      if (state.nudged || state.follows === 'elsewhere') return unchanged(state);
      return expedited({ ...state, nudged: true });
    case 'recheck_asked':
      if (state.follows === 'elsewhere') return unchanged(state);
      return expedited({ ...state, recheck: true });
    case 'manual_asked':
      return asked({ ...state, manual: [...state.manual, event.ask] });
    case 'database_back':
      return databaseBack(state, event.hasMissed, now);
    case 'due':
      return queued(state, now);
    case 'slot_free':
      return begun(state, now);
    case 'ended':
      return ended(state, event.end, now, rules);
  }
}

type EventOf<Kind extends ScheduleEvent['kind']> = Extract<ScheduleEvent, { readonly kind: Kind }>;

function started(state: Schedule, { waitMillis }: EventOf<'started'>, now: number): Scheduled {
  const next: Schedule = { ...state, follows: 'here' };
  // A source that another process worked meanwhile begins again as after a start.
  if (waitMillis !== undefined) return woken({ ...next, timerDue: now + waitMillis, unasked: 'start' });
  return woken(state.follows === 'elsewhere' ? { ...next, timerDue: now, unasked: 'start' } : next);
}

function dueWithin(
  state: Schedule,
  { waitMillis, grantWaitMillis }: EventOf<'due_within'>,
  now: number,
): Scheduled {
  if (state.follows !== 'here') return unchanged(state);
  return woken({
    ...state,
    timerDue: Math.min(state.timerDue, now + waitMillis),
    grant:
      state.grant === unchecked && grantWaitMillis !== undefined
        ? { dueAt: now + grantWaitMillis, failures: 0 }
        : state.grant,
  });
}

function queued(state: Schedule, now: number): Scheduled {
  if (state.tick.kind !== 'none') throw new Error('a source has one tick at a time');
  const urgent = (state.nudged && !nudgeWaits(state, now)) || state.recheck || state.manual.length > 0;
  return { next: { ...state, tick: { kind: 'queued', urgent } }, effects: [{ kind: 'enqueue', urgent }] };
}

/**
 * The database is back. A source whose last tick failed because of it is due now, not at the end of its backoff. If the
 * others may have missed a change unnoticed, they are due too, but at most every 15 s.
 */
function databaseBack(before: Schedule, hasMissed: boolean, now: number): Scheduled {
  const state: Schedule =
    before.tick.kind === 'running' ? { ...before, tick: { ...before.tick, databaseIsBack: true } } : before;
  if (state.follows !== 'here' || state.paused || state.halted) return unchanged(state);
  if (!state.databaseFailed && (!hasMissed || now - state.wokenAt < wokenMillisMin)) return unchanged(state);
  return woken({ ...state, wokenAt: now, failures: 0, timerDue: now, nudgeDue: now });
}

function begun(state: Schedule, now: number): Scheduled {
  if (state.tick.kind !== 'queued') throw new Error('only a queued tick can begin');
  // Another process took the source, an operator paused it, or it was removed, while the tick was queued.
  if ((state.follows === 'elsewhere' || state.paused || state.closed) && state.manual.length === 0)
    return { next: { ...state, tick: none }, effects: [{ kind: 'pass' }] };
  const trigger = triggerOf(state, now);
  const grant = state.recheck ? unchecked : state.grant;
  const covers: Covered = {
    trigger,
    // A timed look at a halted source sends no request, so the retry that the nudge earned is still due.
    nudged: state.nudged && trigger !== 'timer',
    recheck: state.recheck,
    checksGrant: now >= grant.dueAt,
  };
  const ask: TickAsk = {
    trigger,
    failures: state.failures,
    checkGrant: covers.checksGrant,
    expected: state.expected,
    resync: state.manual.some(({ resync }) => resync === true),
    acceptDeletions: state.manual.some(({ acceptDeletions }) => acceptDeletions === true),
    ...defined({
      acceptAwaiting: state.manual.find((ask) => ask.acceptAwaiting !== undefined)?.acceptAwaiting,
    }),
  };
  const next: Schedule = {
    ...state,
    tick: { kind: 'running', covers, databaseIsBack: false },
    manual: [],
    recheck: false,
    nudged: state.nudged && !covers.nudged,
    grant,
  };
  return { next, effects: [{ kind: 'run', ask }] };
}

function triggerOf(state: Schedule, now: number): Trigger {
  if (state.manual.length > 0) return 'manual';
  // As after a start: the cause of a halt may be gone.
  if (state.recheck) return 'start';
  // A start that is not due yet does not take away the reserve of a webhook.
  const isStart = state.unasked === 'start' && now >= state.timerDue;
  return state.nudged && !nudgeWaits(state, now) && !isStart ? 'webhook' : state.unasked;
}

/** Returns whether a halted source still waits out the hour before a nudge may retry it. */
function nudgeWaits({ halted, nudgeDue }: Schedule, now: number): boolean {
  return halted && now < nudgeDue;
}

function ended(state: Schedule, end: TickEnded, now: number, rules: ScheduleRules): Scheduled {
  if (state.tick.kind !== 'running') throw new Error('a tick ended that was not running');
  const { covers, databaseIsBack } = state.tick;
  const { report } = end;
  const { isCut, halted, isUnanswered, databaseFailed, isBlocked, keepsNudge } = consequencesOf(
    end,
    covers.trigger,
  );
  const grant = covers.checksGrant ? afterCheck(state.grant, end.grant, now, rules.grantMillis) : state.grant;
  const mayRetryGrant = report.outcome === 'done' && !(covers.checksGrant && end.grant === 'not_asked');
  const stretch = afterTick(state.stretch, report, covers.nudged);
  // Cut off by a pause that ended, or by a handover that came back, while it finished its page: due at once.
  const goesOn = isCut && state.follows === 'here' && !state.paused;
  const interval = stretched(stretch, rules.intervalMillis, rules.idleIntervalMillis);
  const isRepeated = databaseFailed && databaseIsBack && !halted;
  const timerDue = goesOn || isRepeated ? now : now + timerWait(end, halted, interval);
  const isFollowed = state.follows !== 'elsewhere';
  const retryDue = isBlocked ? timerDue : now;
  return unchanged({
    ...state,
    tick: none,
    nudged: state.nudged || (covers.nudged && keepsNudge && isFollowed),
    recheck: state.recheck || (covers.recheck && isCut && isFollowed),
    timerDue,
    nudgeDue: halted ? haltedNudgeDue(state, covers.trigger, now) : retryDue,
    nudgedAt: covers.nudged ? now : state.nudgedAt,
    rechecks: covers.recheck ? afterRecheck(state.rechecks, now) : state.rechecks,
    stretch,
    grant,
    grantRetry: mayRetryGrant && grant.failures > 0,
    unasked: unaskedNext(isUnanswered, goesOn ? state.unasked : 'timer'),
    halted,
    failures: report.outcome === 'failed' && !halted ? state.failures + 1 : 0,
    databaseFailed,
    expected: endOf(end),
  });
}

/** What the end of a tick says about the next one. */
interface Consequences {
  readonly isCut: boolean;
  /** Only a person, or a nudge after an hour, starts the next request. */
  readonly halted: boolean;
  /** The platform did not answer the retry of a halted source. It is repeated as any failure is. */
  readonly isUnanswered: boolean;
  readonly databaseFailed: boolean;
  /** Whether nothing may be requested before its retry time, not even for a webhook. */
  readonly isBlocked: boolean;
  /** Whether the nudge that the tick covered gets a tick of its own. */
  readonly keepsNudge: boolean;
}

function consequencesOf({ report, phase }: TickEnded, trigger: Trigger): Consequences {
  const { outcome, code, retryAt } = report;
  const isCut = outcome === 'stopped';
  // A timed retry could wait behind those of many other sources. A locked database is found before a request is sent, as a rule.
  const isLocked = code === 'database_busy';
  // A webhook tick may use the reserved requests, a timed tick may not. So after a timed tick ran out of quota, one
  // webhook tick may still follow at once.
  const reserveLeft = code === 'rate_limited' && trigger !== 'webhook' && phase?.kind === 'following';
  const isUnanswered = isUnansweredRetry({ report, phase });
  return {
    isCut,
    halted: phase?.kind === 'halted' && !isUnanswered,
    isUnanswered,
    databaseFailed: code?.startsWith('database_') === true,
    isBlocked: outcome !== 'done' && retryAt !== null && !reserveLeft,
    keepsNudge: isCut || isLocked || reserveLeft,
  };
}

/** A timed tick only looks at a halted source, so a retry without an answer is repeated as after a start. */
const unaskedNext = (isUnanswered: boolean, otherwise: Schedule['unasked']): Schedule['unasked'] =>
  isUnanswered ? 'start' : otherwise;

/** Returns when a nudge may retry a source that is halted. A timed look sends no request, so it begins no other hour. */
function haltedNudgeDue({ halted, nudgeDue }: Schedule, trigger: Trigger, now: number): number {
  return halted && trigger === 'timer' ? nudgeDue : now + haltedNudgeMillis;
}

function timerWait({ grant, retryInMillis, chance }: TickEnded, halted: boolean, interval: number): number {
  if (halted) return haltedLookMillis;
  // The next tick lists again, for the names.
  if (grant === 'regained') return 0;
  if (retryInMillis !== null) return Math.min(retryMillisMax, Math.max(retryMillisMin, retryInMillis));
  return interval * (1 + jitterShare * (2 * chance - 1));
}

function endOf({ report, phase }: TickEnded): Position | null {
  if (report.outcome !== 'done' || phase?.kind !== 'following') return null;
  return { kind: 'cursor', cursor: phase.cursor };
}

const unchanged = (next: Schedule): Scheduled => ({ next, effects: [] });

/** Nothing but manual requests starts a tick any more, so without one a queued tick has nothing left to do. */
function stilled(next: Schedule, effects: readonly ScheduleEffect[]): Scheduled {
  // A source that is closed answers its users at once.
  const isVain = next.tick.kind === 'queued' && (next.closed || next.manual.length === 0);
  return {
    next,
    effects: [...effects, ...(isVain ? [{ kind: 'withdraw' } as const] : []), { kind: 'wake' }],
  };
}

const woken = (next: Schedule): Scheduled => ({ next, effects: [{ kind: 'wake' }] });

/** A tick that a user waits for goes before those that webhooks started. */
const asked = (state: Schedule): Scheduled =>
  state.tick.kind === 'queued' && state.tick.urgent
    ? { next: state, effects: [{ kind: 'wake' }, { kind: 'raise' }] }
    : expedited(state);

/** A tick that is already queued covers the request too, and becomes urgent. */
function expedited(state: Schedule): Scheduled {
  if (state.tick.kind !== 'queued' || state.tick.urgent) return woken(state);
  return {
    next: { ...state, tick: { kind: 'queued', urgent: true } },
    effects: [{ kind: 'wake' }, { kind: 'raise' }],
  };
}
