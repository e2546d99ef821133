import { describe, expect, test } from 'vitest';
import type { Cursor } from '../../src/domain/position.js';
import { unchecked } from '../../src/sync/grant-check.js';
import {
  isIdle,
  isOver,
  nudgeDueAt,
  timedSince,
  untilDue,
  usesWebhooksUntil,
} from '../../src/sync/next-due.js';
import { nothingApplied, type Phase, type TickReport } from '../../src/sync/ports.js';
import { schedule } from '../../src/sync/schedule.js';
import {
  type Covered,
  type Schedule,
  type ScheduleEvent,
  type TickEnded,
  unscheduled,
} from '../../src/sync/schedule-state.js';
import { spacingSeen } from '../../src/sync/spacing-seen.js';
import type { SharedBudget } from '../../src/sync/webhook-spacing.js';

const now = 1_000_000_000;
const minute = 60_000;
const hour = 60 * minute;
const rules = { intervalMillis: minute, idleIntervalMillis: 3 * minute };

const covered = (covers: Partial<Covered> = {}): Schedule['tick'] => ({
  kind: 'running',
  covers: { trigger: 'timer', nudged: false, recheck: false, checksGrant: false, ...covers },
  databaseIsBack: false,
});

/** Followed here and up to date: the timer is due in a minute, the grant check in an hour. */
const waiting: Schedule = {
  ...unscheduled,
  follows: 'here',
  unasked: 'timer',
  timerDue: now + minute,
  nudgeDue: now,
  wokenAt: now - minute,
  grant: { dueAt: now + hour, failures: 0 },
};
const manual = [{ resync: true }];

const states = {
  'not started': unscheduled,
  waiting,
  nudged: { ...waiting, nudged: true },
  'timer due': { ...waiting, timerDue: now },
  'queued, timed': { ...waiting, timerDue: now, tick: { kind: 'queued', urgent: false } },
  'queued, urgent': { ...waiting, nudged: true, tick: { kind: 'queued', urgent: true } },
  'queued, first': { ...unscheduled, follows: 'here', nudged: true, tick: { kind: 'queued', urgent: true } },
  'queued, asked': {
    ...waiting,
    nudged: true,
    recheck: true,
    manual,
    tick: { kind: 'queued', urgent: true },
  },
  'queued, halted': {
    ...waiting,
    halted: true,
    nudged: true,
    nudgeDue: now + hour,
    tick: { kind: 'queued', urgent: false },
  },
  running: { ...waiting, tick: covered() },
  'running, nudged again': { ...waiting, nudged: true, tick: covered({ trigger: 'webhook', nudged: true }) },
  halted: { ...waiting, halted: true, timerDue: now + 5 * minute, nudgeDue: now + hour },
  'halted, nudged': { ...waiting, halted: true, timerDue: now, nudged: true, nudgeDue: now + hour },
  'database away': { ...waiting, databaseFailed: true, failures: 3, wokenAt: now - 1_000 },
  'woken just now': { ...waiting, wokenAt: now - 1_000 },
  elsewhere: { ...waiting, follows: 'elsewhere' },
  'elsewhere, still queued': { ...waiting, follows: 'elsewhere', tick: { kind: 'queued', urgent: false } },
  closed: { ...waiting, closed: true },
  'closed, asked before': { ...waiting, closed: true, manual },
} as const satisfies Record<string, Schedule>;

const events = {
  started: { kind: 'started' },
  left: { kind: 'left' },
  nudged: { kind: 'nudged' },
  recheck: { kind: 'recheck_asked' },
  manual: { kind: 'manual_asked', ask: {} },
  'database back': { kind: 'database_back', hasMissed: true },
  due: { kind: 'due' },
  'slot free': { kind: 'slot_free' },
} as const satisfies Record<string, ScheduleEvent>;

/** Returns what changed and, after an arrow, the effects; an event that cannot happen is `never`. */
function outcome(state: Schedule, event: ScheduleEvent): string {
  try {
    const { next, effects } = schedule(state, event, now, rules);
    const names = Object.keys(state) as (keyof Schedule)[];
    const changed = names.filter((name) => JSON.stringify(next[name]) !== JSON.stringify(state[name]));
    const done = effects.map((one) =>
      one.kind === 'run'
        ? `run ${one.ask.trigger}`
        : one.kind === 'enqueue' && one.urgent
          ? 'enqueue urgently'
          : one.kind,
    );
    return [changed.join(' '), ...(done.length > 0 ? [`→ ${done.join(', ')}`] : [])].join(' ').trim();
  } catch {
    return 'never';
  }
}

const truth: Record<keyof typeof states, Record<keyof typeof events, string>> = {
  'not started': {
    started: 'follows → wake',
    left: 'follows → wake',
    nudged: 'nudged → wake',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': '',
    due: 'tick → enqueue',
    'slot free': 'never',
  },
  waiting: {
    started: '→ wake',
    left: 'follows → wake',
    nudged: 'nudged → wake',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': 'timerDue wokenAt → wake',
    due: 'tick → enqueue',
    'slot free': 'never',
  },
  nudged: {
    started: '→ wake',
    left: 'follows nudged → wake',
    nudged: '',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': 'timerDue wokenAt → wake',
    due: 'tick → enqueue urgently',
    'slot free': 'never',
  },
  'timer due': {
    started: '→ wake',
    left: 'follows → wake',
    nudged: 'nudged → wake',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': 'wokenAt → wake',
    due: 'tick → enqueue',
    'slot free': 'never',
  },
  'queued, timed': {
    started: '→ wake',
    left: 'follows → withdraw, wake',
    nudged: 'nudged tick → wake, raise',
    recheck: 'recheck tick → wake, raise',
    manual: 'manual tick → wake, raise',
    'database back': 'wokenAt → wake',
    due: 'never',
    'slot free': 'tick → run timer',
  },
  'queued, urgent': {
    started: '→ wake',
    left: 'follows nudged → withdraw, wake',
    nudged: '',
    recheck: 'recheck → wake',
    manual: 'manual → wake, raise',
    'database back': 'timerDue wokenAt → wake',
    due: 'never',
    'slot free': 'nudged tick → run webhook',
  },
  'queued, first': {
    started: '→ wake',
    left: 'follows nudged → withdraw, wake',
    nudged: '',
    recheck: 'recheck → wake',
    manual: 'manual → wake, raise',
    'database back': 'timerDue nudgeDue wokenAt → wake',
    due: 'never',
    'slot free': 'nudged tick → run start',
  },
  'queued, asked': {
    started: '→ wake',
    left: 'follows nudged recheck → wake',
    nudged: '',
    recheck: '→ wake',
    manual: 'manual → wake, raise',
    'database back': 'timerDue wokenAt → wake',
    due: 'never',
    'slot free': 'nudged recheck manual tick grant → run manual',
  },
  'queued, halted': {
    started: '→ wake',
    left: 'follows nudged → withdraw, wake',
    nudged: '',
    recheck: 'recheck tick → wake, raise',
    manual: 'manual tick → wake, raise',
    'database back': '',
    due: 'never',
    'slot free': 'tick → run timer',
  },
  running: {
    started: '→ wake',
    left: 'follows → wake',
    nudged: 'nudged → wake',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': 'tick timerDue wokenAt → wake',
    due: 'never',
    'slot free': 'never',
  },
  'running, nudged again': {
    started: '→ wake',
    left: 'follows nudged → wake',
    nudged: '',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': 'tick timerDue wokenAt → wake',
    due: 'never',
    'slot free': 'never',
  },
  halted: {
    started: '→ wake',
    left: 'follows → wake',
    nudged: 'nudged → wake',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': '',
    due: 'tick → enqueue',
    'slot free': 'never',
  },
  'halted, nudged': {
    started: '→ wake',
    left: 'follows nudged → wake',
    nudged: '',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': '',
    due: 'tick → enqueue',
    'slot free': 'never',
  },
  'database away': {
    started: '→ wake',
    left: 'follows → wake',
    nudged: 'nudged → wake',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': 'timerDue failures wokenAt → wake',
    due: 'tick → enqueue',
    'slot free': 'never',
  },
  'woken just now': {
    started: '→ wake',
    left: 'follows → wake',
    nudged: 'nudged → wake',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': '',
    due: 'tick → enqueue',
    'slot free': 'never',
  },
  elsewhere: {
    started: 'follows timerDue unasked → wake',
    left: '→ wake',
    nudged: '',
    recheck: '',
    manual: 'manual → wake',
    'database back': '',
    due: 'tick → enqueue',
    'slot free': 'never',
  },
  'elsewhere, still queued': {
    started: 'follows timerDue unasked → wake',
    left: '→ withdraw, wake',
    nudged: '',
    recheck: '',
    manual: 'manual tick → wake, raise',
    'database back': '',
    due: 'never',
    'slot free': 'tick → pass',
  },
  closed: {
    started: '→ wake',
    left: 'follows → wake',
    nudged: 'nudged → wake',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': 'timerDue wokenAt → wake',
    due: 'tick → enqueue',
    'slot free': 'never',
  },
  'closed, asked before': {
    started: '→ wake',
    left: 'follows → wake',
    nudged: 'nudged → wake',
    recheck: 'recheck → wake',
    manual: 'manual → wake',
    'database back': 'timerDue wokenAt → wake',
    due: 'tick → enqueue urgently',
    'slot free': 'never',
  },
};

describe('schedule: what each event changes and causes in each state', () => {
  for (const [state, row] of Object.entries(truth) as [keyof typeof states, (typeof truth)['waiting']][])
    test(`schedule: what each event changes and causes while ${state}`, () => {
      const seen = Object.entries(events).map(([name, event]) => [name, outcome(states[state], event)]);
      expect(Object.fromEntries(seen)).toEqual(row);
    });
});

test('schedule: when the next tick is due in each state, whether the source is idle, and whether all is over', () => {
  const never = Number.POSITIVE_INFINITY;
  const seen = Object.entries(states).map(([name, state]) => [
    name,
    [untilDue(state, now, []), isIdle(state, now, []), isOver(state)],
  ]);
  expect(Object.fromEntries(seen)).toEqual({
    'not started': [never, true, false],
    waiting: [minute, true, false],
    nudged: [0, false, false],
    'timer due': [0, false, false],
    'queued, timed': [0, false, false],
    'queued, urgent': [0, false, false],
    'queued, first': [0, false, false],
    'queued, asked': [0, false, false],
    'queued, halted': [minute, false, false],
    running: [minute, false, false],
    'running, nudged again': [0, false, false],
    halted: [5 * minute, true, false],
    'halted, nudged': [0, false, false],
    'database away': [minute, true, false],
    'woken just now': [minute, true, false],
    elsewhere: [never, true, false],
    'elsewhere, still queued': [never, false, false],
    closed: [never, true, true],
    'closed, asked before': [0, false, false],
  });
});

const following: Phase = {
  kind: 'following',
  cursor: 'c1' as Cursor,
  listed: { at: '2026-11-01T00:00:00.000Z' as never, restarts: 0 },
  namesIncomplete: false,
};
const haltedPhase: Phase = {
  kind: 'halted',
  code: 'forbidden',
  message: '',
  at: '2026-11-01T00:00:00.000Z' as never,
  before: following,
};

/** A tick that ended well. `chance` 0.5 means no jitter. */
const done: TickEnded = {
  report: {
    outcome: 'done',
    code: null,
    retryAt: null,
    trigger: 'timer',
    applied: nothingApplied,
  } as TickReport,
  phase: following,
  grant: 'not_asked',
  retryInMillis: null,
  chance: 0.5,
};

const failed = (code: string, retryInMillis: number | null, phase: Phase | null = following): TickEnded => ({
  ...done,
  phase,
  retryInMillis,
  report: {
    ...done.report,
    outcome: code === 'rate_limited' ? 'waiting' : 'failed',
    code,
    retryAt: retryInMillis === null ? null : 'then',
  } as TickReport,
});

const stopped: TickEnded = {
  ...done,
  report: { ...done.report, outcome: 'stopped', code: 'stopped' } as TickReport,
};

describe('schedule: after a tick', () => {
  /** The tick's requests, the state before, its end; then the wait for timer and nudge, and what else changed. */
  const cases: readonly [
    string,
    Partial<Covered>,
    Partial<Schedule>,
    TickEnded,
    { readonly timer: number; readonly nudge?: number } & Partial<Schedule>,
  ][] = [
    ['done: the timer runs an interval later', {}, {}, done, { timer: minute }],
    ['jitter: at most a quarter less', {}, {}, { ...done, chance: 0 }, { timer: 0.75 * minute }],
    [
      'done: the position is the next guess',
      {},
      {},
      done,
      { timer: minute, expected: { kind: 'cursor', cursor: 'c1' as Cursor } },
    ],
    [
      'failed: the position is unknown',
      {},
      {},
      failed('unreachable', 5_000),
      { timer: 5_000, nudge: 5_000, expected: null, failures: 1 },
    ],
    [
      'failed again: the count grows',
      {},
      { failures: 4 },
      failed('unreachable', 5_000),
      { timer: 5_000, nudge: 5_000, failures: 5 },
    ],
    ['done: the count of failures ends', {}, { failures: 4 }, done, { timer: minute, failures: 0 }],
    [
      'a retry time in the past: after a second',
      {},
      {},
      failed('unreachable', -hour),
      { timer: 1_000, nudge: 1_000, failures: 1 },
    ],
    [
      'a retry time far ahead: after four hours',
      {},
      {},
      failed('unreachable', 99 * hour),
      { timer: 4 * hour, nudge: 4 * hour, failures: 1 },
    ],
    [
      'no database: remembered',
      {},
      {},
      failed('database_busy', 5_000, null),
      { timer: 5_000, nudge: 5_000, failures: 1, databaseFailed: true },
    ],
    [
      'no database after a nudge: the nudge is kept, and waits for the retry',
      { trigger: 'webhook', nudged: true },
      {},
      failed('database_busy', 5_000, null),
      { timer: 5_000, nudge: 5_000, failures: 1, databaseFailed: true, nudged: true },
    ],
    [
      'no database after a nudge, and another process took the source meanwhile: the nudge is its',
      { trigger: 'webhook', nudged: true },
      { follows: 'elsewhere' },
      failed('database_busy', 5_000, null),
      { timer: 5_000, nudge: 5_000, nudged: false },
    ],
    [
      'a platform that fails after a nudge: the retry is a timed tick, which many sources take turns with',
      { trigger: 'webhook', nudged: true },
      {},
      failed('unreachable', 5_000),
      { timer: 5_000, nudge: 5_000, nudged: false },
    ],
    [
      'halted: a look in five minutes, a nudge in an hour',
      {},
      {},
      failed('forbidden', null, haltedPhase),
      { timer: 5 * minute, nudge: hour, halted: true, failures: 0 },
    ],
    [
      'halted still, after a look: the hour goes on',
      {},
      { halted: true, nudgeDue: now + 20 * minute },
      failed('forbidden', null, haltedPhase),
      { timer: 5 * minute, nudge: 20 * minute, halted: true },
    ],
    [
      'halted still, after a nudge: another hour',
      { trigger: 'webhook', nudged: true },
      { halted: true, nudgeDue: now },
      failed('forbidden', null, haltedPhase),
      { timer: 5 * minute, nudge: hour, halted: true },
    ],
    [
      'halted, and the platform did not answer its retry: retried like any failure, as after a start',
      { trigger: 'webhook', nudged: true },
      { halted: true, nudgeDue: now },
      failed('unreachable', 5_000, haltedPhase),
      { timer: 5_000, nudge: 5_000, halted: false, failures: 1, unasked: 'start' },
    ],
    [
      'the grant is back: lists at once',
      { checksGrant: true },
      {},
      { ...done, grant: 'regained' },
      { timer: 0, grant: { dueAt: now + hour, failures: 0 } },
    ],
    [
      'the grant check failed: retried soon',
      { checksGrant: true },
      {},
      { ...done, grant: 'failed' },
      { timer: minute, grantRetry: true, grant: { dueAt: now + 15_000, failures: 1 } },
    ],
    [
      'a tick that failed retries no grant check',
      {},
      { grant: { dueAt: now, failures: 1 }, grantRetry: true },
      failed('unreachable', 5_000),
      { timer: 5_000, nudge: 5_000, failures: 1, grantRetry: false },
    ],
    [
      'cut off by a pause that ended meanwhile: due at once, with its nudge and its recheck',
      { trigger: 'webhook', nudged: true, recheck: true },
      {},
      stopped,
      { timer: 0, nudged: true, recheck: true },
    ],
    [
      'cut off by a pause that goes on: its nudge is kept',
      { trigger: 'webhook', nudged: true },
      { paused: true },
      stopped,
      { timer: minute, nudged: true, paused: true },
    ],
    [
      'cut off because another process took the source: its nudge is not kept',
      { trigger: 'webhook', nudged: true, recheck: true },
      { follows: 'elsewhere' },
      stopped,
      { timer: minute, nudged: false, recheck: false },
    ],
    [
      'out of quota: a timer waits, and so do nudges',
      { trigger: 'webhook', nudged: true },
      {},
      failed('rate_limited', 30 * minute),
      { timer: 30 * minute, nudge: 30 * minute, nudged: false },
    ],
    [
      'out of quota without the reserve: a nudge may use it at once',
      { trigger: 'manual', nudged: true },
      {},
      failed('rate_limited', 30 * minute),
      { timer: 30 * minute, nudge: 0, nudged: true },
    ],
    [
      'out of quota without the reserve, nudged meanwhile: the same',
      { trigger: 'timer' },
      { nudged: true },
      failed('rate_limited', 30 * minute),
      { timer: 30 * minute, nudge: 0, nudged: true },
    ],
    [
      'another process took the source meanwhile: the nudge is its',
      { trigger: 'manual', nudged: true },
      { follows: 'elsewhere' },
      failed('rate_limited', 30 * minute),
      { timer: 30 * minute, nudged: false },
    ],
  ];
  test.each(cases)(
    'schedule: after a tick, %s',
    (_, covers, before, end, { timer, nudge = 0, ...changed }) => {
      const state: Schedule = { ...waiting, ...before, tick: covered(covers) };
      const { next, effects } = schedule(state, { kind: 'ended', end }, now, rules);
      expect(next).toMatchObject({ tick: { kind: 'none' }, unasked: 'timer', ...changed });
      expect({ timer: next.timerDue - now, nudge: Math.max(0, next.nudgeDue - now) }).toEqual({
        timer,
        nudge,
      });
      expect(effects).toEqual([]);
    },
  );
});

test('schedule: a tick answers every request that was there when it began, and none that came later', () => {
  const asked: Schedule = {
    ...waiting,
    nudged: true,
    recheck: true,
    manual: [{ resync: true }, { acceptDeletions: true }],
  };
  const queued = schedule(asked, { kind: 'due' }, now, rules).next;
  const { next, effects } = schedule(queued, { kind: 'slot_free' }, now, rules);
  expect(effects).toEqual([
    {
      kind: 'run',
      ask: {
        trigger: 'manual',
        failures: 0,
        checkGrant: true,
        expected: null,
        resync: true,
        acceptDeletions: true,
      },
    },
  ]);
  expect(next).toMatchObject({ nudged: false, recheck: false, manual: [] });
  const later = schedule(next, { kind: 'nudged' }, now, rules).next;
  const { next: after } = schedule(later, { kind: 'ended', end: done }, now, rules);
  expect(after).toMatchObject({ nudged: true, tick: { kind: 'none' } });
  expect(untilDue(after, now, [])).toBe(0);
});

test('schedule: a tick cannot end before it began', () => {
  expect(() => schedule(waiting, { kind: 'ended', end: done }, now, rules)).toThrow('not running');
});

describe('schedule: when a nudge may start a tick, and why', () => {
  const budget = (left: number): readonly SharedBudget[] => [
    { key: 'token:1', kind: 'token', limit: 1000, left, resetsInMillis: hour, sharing: 1, elsewhere: 0 },
  ];
  const recent = { ...waiting, nudgedAt: now - 1_000 };
  const blocked = { ...waiting, nudgeDue: now + 30_000 };
  test.each([
    ['plenty of quota: at once', recent, budget(600), 0, 'plenty'],
    ['no limit: at once', recent, [], 0, 'plenty'],
    ['a quarter left: the rest of the gap', recent, budget(250), 14_686, 'scarce'],
    ['a quarter left, and the last tick was long ago: at once', waiting, budget(250), 0, 'scarce'],
    [
      'nothing left: when the window has ended, even after a long quiet time',
      waiting,
      budget(0),
      hour,
      'spent',
    ],
    [
      'two limits: the longer wait decides, not the wider gap, which is that of the other limit',
      { ...waiting, nudgedAt: now - 29_779 },
      [
        { ...budget(23)[0], limit: 100, resetsInMillis: 575_335 },
        { ...budget(2)[0], limit: 100, resetsInMillis: 86_500 },
      ] as readonly SharedBudget[],
      8_888,
      'scarce',
    ],
    ['the last tick failed: not before its retry', blocked, budget(600), 30_000, 'backing_off'],
    ['halted: one retry an hour', states.halted, budget(600), hour, 'halted'],
    ['another process follows it', states.elsewhere, budget(600), 0, 'elsewhere'],
  ] as const)('schedule: when a nudge may start a tick, %s', (_, state, budgets, wait, reason) => {
    expect(spacingSeen(state, now, budgets)).toMatchObject({ reason });
    expect(Math.round(spacingSeen(state, now, budgets).waitMillis)).toBe(wait);
    expect(Math.round(Math.max(0, nudgeDueAt(state, now, budgets) - now))).toBe(wait);
    const nudged = { ...state, timerDue: now + 2 * hour, grantRetry: false, nudged: true };
    if (reason !== 'elsewhere') expect(Math.round(untilDue(nudged, now, budgets))).toBe(wait);
  });

  test('a webhook that arrives during a tick has to wait for the next one', () => {
    const during = { ...recent, nudgedAt: now - 15_000, tick: covered({ nudged: true }) };
    const wait = (state: Schedule) => Math.round(spacingSeen(state, now, budget(250)).waitMillis);
    expect(wait(during)).toBe(15_681);
    expect(wait({ ...during, tick: covered() })).toBe(747);
  });

  test('a source shares what webhooks may use for a minute after each of its nudges', () => {
    expect(usesWebhooksUntil(waiting) > now).toBe(false);
    expect(usesWebhooksUntil({ ...waiting, nudged: true }) > now).toBe(true);
    expect(usesWebhooksUntil({ ...waiting, tick: covered({ nudged: true }) }) > now).toBe(true);
    expect(usesWebhooksUntil({ ...waiting, nudgedAt: now - minute + 1 }) > now).toBe(true);
    expect(usesWebhooksUntil({ ...waiting, nudgedAt: now - minute }) > now).toBe(false);
  });

  test('only ticks that answered a nudge space the next one', () => {
    const nudgedAt = (covers: Partial<Covered>) =>
      schedule({ ...recent, tick: covered(covers) }, { kind: 'ended', end: done }, now, rules).next.nudgedAt;
    expect(nudgedAt({})).toBe(recent.nudgedAt);
    expect(nudgedAt({ trigger: 'webhook', nudged: true })).toBe(now);
    expect(nudgedAt({ trigger: 'manual', nudged: true })).toBe(now);
    expect(nudgedAt({ trigger: 'start', recheck: true })).toBe(recent.nudgedAt);
  });
});

describe('schedule: a database file whose lock is free again', () => {
  const back = { kind: 'database_back', hasMissed: false } as const;
  const locked = (retryInMillis: number): TickEnded => failed('database_busy', retryInMillis);

  test('schedule: a database file whose lock is free again makes sources due that failed because of it, and no others', () => {
    const away: Schedule = { ...waiting, databaseFailed: true, failures: 3, timerDue: now + 30_000 };
    expect(schedule(away, back, now, rules).next).toMatchObject({
      failures: 0,
      timerDue: now,
      nudgeDue: now,
    });
    expect(schedule(waiting, back, now, rules)).toEqual({ next: waiting, effects: [] });
  });

  test('repeats a running tick at once that fails because of it, once, and no other tick', () => {
    const running: Schedule = { ...waiting, tick: covered() };
    const wait = (state: Schedule, end: TickEnded) =>
      schedule(state, { kind: 'ended', end }, now, rules).next.timerDue - now;
    const { next } = schedule(running, back, now, rules);
    expect(wait(running, locked(8_000))).toBe(8_000);
    expect(wait(next, locked(8_000))).toBe(0);
    expect(wait(next, failed('unavailable', 8_000))).toBe(8_000);
    const repeated = schedule(next, { kind: 'ended', end: locked(8_000) }, now, rules).next;
    const queued = schedule(repeated, { kind: 'due' }, now, rules).next;
    expect(wait(schedule(queued, { kind: 'slot_free' }, now, rules).next, locked(8_000))).toBe(8_000);
  });
});

describe('schedule: a listing that is due earlier than the timer', () => {
  const within = (waitMillis: number, grantWaitMillis?: number) =>
    ({
      kind: 'due_within',
      waitMillis,
      ...(grantWaitMillis === undefined ? {} : { grantWaitMillis }),
    }) as const;

  test('brings the timer forward, and never back', () => {
    expect(schedule(waiting, within(5_000), now, rules)).toEqual({
      next: { ...waiting, timerDue: now + 5_000 },
      effects: [{ kind: 'wake' }],
    });
    expect(schedule(waiting, within(hour), now, rules).next).toEqual(waiting);
  });

  test('sets the time of the first grant check, and leaves that of a later one', () => {
    const first = { dueAt: now + minute, failures: 0 };
    expect(schedule({ ...waiting, grant: unchecked }, within(hour, minute), now, rules).next.grant).toEqual(
      first,
    );
    expect(schedule({ ...waiting, grant: unchecked }, within(hour), now, rules).next.grant).toEqual(
      unchecked,
    );
    expect(schedule(waiting, within(hour, minute), now, rules).next.grant).toEqual(waiting.grant);
  });

  test.each(['elsewhere', 'not started'] as const)('changes nothing for a source that is %s', (name) => {
    expect(schedule(states[name], within(5_000, minute), now, rules)).toEqual({
      next: states[name],
      effects: [],
    });
  });
});

describe('schedule: the end of a pause', () => {
  const resumed = { kind: 'resumed' } as const;
  const later = now + 10_000;

  test('makes timer and nudge due at once', () => {
    const paused: Schedule = { ...waiting, paused: true, nudgeDue: later };
    const { next, effects } = schedule(paused, resumed, now, rules);
    expect(next).toEqual({ ...waiting, timerDue: now, nudgeDue: now });
    expect(effects).toEqual([{ kind: 'wake' }]);
  });

  test('does not shorten the hour that a halted source waits before a nudge retries it', () => {
    const paused: Schedule = { ...waiting, paused: true, halted: true, nudgeDue: later };
    expect(schedule(paused, resumed, now, rules).next.nudgeDue).toBe(later);
  });

  test('changes nothing for a source that was not paused', () => {
    expect(schedule(waiting, resumed, now, rules)).toEqual({ next: waiting, effects: [] });
  });
});

describe('schedule: a database that was away', () => {
  test('wakes a healthy source at most every 15 s', () => {
    const back = { kind: 'database_back', hasMissed: true } as const;
    const since = (millis: number): Schedule => ({ ...waiting, wokenAt: now - millis });
    expect(schedule(since(14_999), back, now, rules).effects).toEqual([]);
    expect(schedule(since(15_000), back, now, rules).effects).toEqual([{ kind: 'wake' }]);
  });
});

describe('schedule: what a tick is asked for', () => {
  const askedOf = (state: Partial<Schedule>) => {
    const queued: Schedule = { ...waiting, ...state, tick: { kind: 'queued', urgent: true } };
    const { effects } = schedule(queued, { kind: 'slot_free' }, now, rules);
    return effects.flatMap((effect) => (effect.kind === 'run' ? [effect.ask] : []))[0];
  };

  test('what any of the waiting users asked for, and nothing else', () => {
    const no = { resync: false, acceptDeletions: false };
    expect(askedOf({ manual: [{}] })).toEqual({
      ...no,
      trigger: 'manual',
      failures: 0,
      checkGrant: false,
      expected: null,
    });
    expect(askedOf({ manual: [{}, { resync: true }] })).toMatchObject({
      resync: true,
      acceptDeletions: false,
    });
    expect(askedOf({ manual: [{ acceptDeletions: true }, {}] })).toMatchObject({
      resync: false,
      acceptDeletions: true,
    });
    expect(askedOf({ manual: [{}, { acceptAwaiting: 3 }, { resync: true }] })).toMatchObject({
      resync: true,
      acceptDeletions: false,
      acceptAwaiting: 3,
    });
  });

  test('a start that is due at this moment is a start, also when a webhook waits; one that is not due leaves it its reserve', () => {
    expect(askedOf({ unasked: 'start', nudged: true, timerDue: now })).toMatchObject({ trigger: 'start' });
    expect(askedOf({ unasked: 'start', nudged: true, timerDue: now + 1 })).toMatchObject({
      trigger: 'webhook',
    });
  });
});

describe('schedule: a start that is spread over a while', () => {
  test('is due after its wait, as a start', () => {
    const { next } = schedule(waiting, { kind: 'started', waitMillis: 7_000 }, now, rules);
    expect(next).toEqual({ ...waiting, timerDue: now + 7_000, unasked: 'start' });
  });
});

describe('schedule: what only some ticks change', () => {
  const stateAfter = (covers: Partial<Covered>, end: TickEnded) =>
    schedule({ ...waiting, tick: covered(covers) }, { kind: 'ended', end }, now, rules).next;

  test('only a tick that checked token and grant again moves the next such tick away', () => {
    expect(stateAfter({}, done).rechecks).toEqual(waiting.rechecks);
    expect(stateAfter({ recheck: true }, done).rechecks).toEqual({ level: 1, endedAt: now });
  });

  test('only a failed grant check makes a source due for the next one', () => {
    expect(stateAfter({ checksGrant: true }, { ...done, grant: 'followed' }).grantRetry).toBe(false);
    expect(stateAfter({ checksGrant: true }, { ...done, grant: 'failed' }).grantRetry).toBe(true);
  });
});

test('schedule: a timed tick is due since its timer, or since a grant check that is to be repeated, if that is earlier', () => {
  const since = (grantRetry: boolean, dueAt: number) =>
    timedSince({ ...waiting, grantRetry, grant: { dueAt, failures: 1 } }) - now;
  expect([since(true, now - hour), since(false, now - hour)]).toEqual([-hour, minute]);
  expect(since(true, now + hour)).toBe(minute);
});
