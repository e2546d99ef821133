import type { Position } from '../domain/position.js';
import { type GrantAnswer, type GrantCheck, unchecked } from './grant-check.js';
import { type IdleStretch, watchful } from './idle-stretch.js';
import type { Phase, TickReport, Trigger } from './ports.js';
import { noRecheck, type RecheckSpacing } from './recheck-spacing.js';
import type { TickAsk } from './tick-parts.js';

/* The state of the schedule of one source, with the events and effects of `schedule`. */

/** Options of a tick that a user requests. */
export interface ManualAsk {
  readonly resync?: boolean;
  readonly acceptDeletions?: boolean;
  /**
   * Deletes the rows awaiting deletion if they are exactly this many, and approves no listing. A tick that also begins a
   * listing on request ignores it.
   */
  readonly acceptAwaiting?: number;
}

export interface Schedule {
  /**
   * `not_yet`: no timer runs, ticks run only on request. `elsewhere`: another process syncs this source, so timer and
   * nudges are ignored and only manual requests run.
   */
  readonly follows: 'not_yet' | 'here' | 'elsewhere';
  readonly closed: boolean;
  /** An operator paused the source: nothing but a request of a user starts a tick. Nudges are kept. */
  readonly paused: boolean;

  readonly nudged: boolean;
  readonly recheck: boolean;
  readonly manual: readonly ManualAsk[];
  readonly tick: ScheduledTick;

  readonly timerDue: number;
  /** Not before this time, whatever the quota allows. */
  readonly nudgeDue: number;
  /** When the last tick that answered a nudge ended. */
  readonly nudgedAt: number;
  readonly rechecks: RecheckSpacing;
  readonly stretch: IdleStretch;
  readonly grant: GrantCheck;
  /** A failed grant check is retried in a tick of its own. While ticks fail, the timer decides when the next may run. */
  readonly grantRetry: boolean;

  /** The trigger of the next tick without a request. */
  readonly unasked: 'start' | 'timer';
  readonly halted: boolean;
  readonly failures: number;
  readonly databaseFailed: boolean;
  readonly wokenAt: number;
  /** Position at the end of the last complete tick. Another process may have moved it since. */
  readonly expected: Position | null;
}

export type ScheduledTick =
  | { readonly kind: 'none' }
  /** Waits for a slot. An urgent one waits only behind other urgent ones. */
  | { readonly kind: 'queued'; readonly urgent: boolean }
  | {
      readonly kind: 'running';
      readonly covers: Covered;
      /** The database came back during the tick: if it fails because of the database all the same, it is repeated at once. */
      readonly databaseIsBack: boolean;
    };

/** The requests that a running tick answers. */
export interface Covered {
  readonly trigger: Trigger;
  readonly nudged: boolean;
  readonly recheck: boolean;
  readonly checksGrant: boolean;
}

export type ScheduleEvent =
  /** `waitMillis`: the first tick need not be due now, because another process read the source before. */
  | { readonly kind: 'started'; readonly waitMillis?: number }
  /**
   * A timed tick is due in so many milliseconds at the latest; a negative number says since when it is due. The first
   * grant check waits for `grantWaitMillis`: the process before checked it.
   */
  | { readonly kind: 'due_within'; readonly waitMillis: number; readonly grantWaitMillis?: number }
  | { readonly kind: 'left' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'paused' }
  | { readonly kind: 'resumed' }
  | { readonly kind: 'nudged' }
  | { readonly kind: 'recheck_asked' }
  | { readonly kind: 'manual_asked'; readonly ask: ManualAsk }
  /** `hasMissed`: also what did not fail may have missed a change. */
  | { readonly kind: 'database_back'; readonly hasMissed: boolean }
  /** `untilDue` returned 0. */
  | { readonly kind: 'due' }
  | { readonly kind: 'slot_free' }
  | { readonly kind: 'ended'; readonly end: TickEnded };

/** How a tick ended, as far as the schedule is concerned. */
export interface TickEnded {
  readonly report: TickReport;
  readonly phase: Phase | null;
  readonly grant: GrantAnswer;
  /** Milliseconds until `report.retryAt`; null without one. */
  readonly retryInMillis: number | null;
  /** At least 0, below 1. */
  readonly chance: number;
}

export type ScheduleEffect =
  /** Looks again when the next tick is due. */
  | { readonly kind: 'wake' }
  | { readonly kind: 'enqueue'; readonly urgent: boolean }
  /** Moves the queued tick before those that are not urgent. */
  | { readonly kind: 'raise' }
  /** Takes the queued tick out of the queue: nothing is left to do. */
  | { readonly kind: 'withdraw' }
  /** Ends the running tick after the page it writes. */
  | { readonly kind: 'cut' }
  /** Runs the tick. It answers all manual requests so far. */
  | { readonly kind: 'run'; readonly ask: TickAsk }
  /** Returns the slot unused: nothing is left to do. */
  | { readonly kind: 'pass' };

export interface Scheduled {
  readonly next: Schedule;
  readonly effects: readonly ScheduleEffect[];
}

export interface ScheduleRules {
  readonly intervalMillis: number;
  /** Upper bound of the interval while webhooks announce every change. */
  readonly idleIntervalMillis: number;
  /** Time between two checks of the grant (default: an hour). */
  readonly grantMillis?: number;
}

export const unscheduled: Schedule = {
  follows: 'not_yet',
  closed: false,
  paused: false,
  nudged: false,
  recheck: false,
  manual: [],
  tick: { kind: 'none' },
  timerDue: 0,
  nudgeDue: 0,
  nudgedAt: Number.NEGATIVE_INFINITY,
  rechecks: noRecheck,
  stretch: watchful,
  grant: unchecked,
  grantRetry: false,
  unasked: 'start',
  halted: false,
  failures: 0,
  databaseFailed: false,
  wokenAt: Number.NEGATIVE_INFINITY,
  expected: null,
};
