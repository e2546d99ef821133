import { expect, test } from 'vitest';
import {
  judgeSource,
  type OverallFacts,
  overallStateOf,
  type SourceFacts,
  type Surroundings,
} from '../../src/store/reads/judge-source.js';

const now = Date.parse('2026-05-01T12:00:00.000Z');
const at = (seconds: number) => new Date(now + seconds * 1_000).toISOString();

const facts: SourceFacts = {
  state: 'following',
  last_outcome: 'done',
  quarantineOpen: 0,
  paused: null,
  retry_at: null,
  awaiting_deletion: 0,
  names_incomplete: 0,
  last_tick_at: at(-60),
  last_success_at: at(-60),
  last_committed_at: at(-60),
  complete_up_to: at(-61),
};
const surroundings: Surroundings = { now, staleMillis: 285_000, followed: true, reports: [] };
const report = { key: 'tick.acme', text: 'the disk is full', since: at(-9) as never, source: 'acme' };

test.each<[string, Partial<SourceFacts>, Partial<Surroundings>, string, readonly string[]]>([
  ['that ticked a minute ago', {}, {}, 'ok', []],
  [
    'whose tick is overdue',
    { last_tick_at: at(-286), last_committed_at: at(-286) },
    {},
    'failing',
    ['overdue'],
  ],
  [
    'that is paused, however old its last tick',
    { paused: at(-9_000), last_tick_at: at(-9_000), last_committed_at: at(-9_000) },
    {},
    'working',
    ['paused'],
  ],
  ['that never ticked', { last_tick_at: null, last_committed_at: null }, {}, 'failing', ['overdue']],
  ['whose last tick has no readable time', { last_tick_at: 'garbage' }, {}, 'failing', ['overdue']],
  ['in a long tick that committed a page', { last_tick_at: at(-900) }, {}, 'ok', []],
  [
    'in a long tick that committed a page under a clock that is slightly ahead',
    { last_tick_at: at(-900), last_committed_at: at(60) },
    {},
    'ok',
    [],
  ],
  ['that ticked and committed nothing', { last_committed_at: null }, {}, 'ok', []],
  [
    'in a wait that its last tick recorded',
    { last_tick_at: at(-900), last_committed_at: at(-900), retry_at: at(100) },
    {},
    'ok',
    [],
  ],
  [
    'whose recorded wait is over',
    { last_tick_at: at(-900), last_committed_at: at(-900), retry_at: at(-300) },
    {},
    'failing',
    ['overdue'],
  ],
  [
    'that waits for the end of quiet hours, longer than a tick is ever postponed',
    { last_outcome: 'waiting', last_tick_at: at(-900), last_committed_at: at(-900), retry_at: at(28_800) },
    {},
    'working',
    [],
  ],
  [
    'whose recorded wait is impossible, within the longest time that the scheduler sleeps',
    { last_tick_at: at(-14_685), last_committed_at: at(-14_685), retry_at: at(40 * 86_400) },
    {},
    'ok',
    [],
  ],
  [
    'whose recorded wait is impossible, after the longest time that the scheduler sleeps',
    { last_tick_at: at(-14_685.001), last_committed_at: at(-14_685.001), retry_at: at(40 * 86_400) },
    {},
    'failing',
    ['overdue'],
  ],
  [
    'on a host whose clock is slightly ahead',
    { last_tick_at: at(60), last_committed_at: at(60) },
    {},
    'ok',
    [],
  ],
  ['with rows that await deletion', { awaiting_deletion: 2 }, {}, 'attention', []],
  ['whose names are incomplete', { names_incomplete: 1 }, {}, 'working', []],
  ['whose tick is in the future', { last_tick_at: at(60.001) }, {}, 'failing', ['clock_ahead']],
  [
    'of which only the versions are in the future',
    { last_committed_at: at(86_400) },
    {},
    'ok',
    ['versions_ahead'],
  ],
  [
    'that ticked long ago, with versions in the future',
    { last_tick_at: at(-900), last_committed_at: at(86_400) },
    {},
    'failing',
    ['overdue', 'versions_ahead'],
  ],
  [
    'that is complete up to seven days before its last success',
    { complete_up_to: at(-604_860) },
    {},
    'ok',
    [],
  ],
  [
    'that is not complete up to seven days before its last success',
    { complete_up_to: at(-604_861) },
    {},
    'attention',
    ['feed_behind'],
  ],
  [
    'whose last success is dated by a clock that was wrong',
    { last_success_at: at(700_000), complete_up_to: at(-9) },
    {},
    'ok',
    [],
  ],
  ['that ticks beside a platform that names no time', { complete_up_to: null }, {}, 'ok', []],
  [
    'whose long listing succeeds tick by tick',
    { state: 'relisting', complete_up_to: at(-700_000) },
    {},
    'working',
    [],
  ],
  ['on a platform whose clock is two years ahead', { complete_up_to: at(63_072_000) }, {}, 'ok', []],
  [
    'on a platform whose clock is more than two years ahead',
    { complete_up_to: at(63_072_000.001) },
    {},
    'attention',
    ['feed_ahead'],
  ],
  [
    'whose feed was never read to its end',
    { last_success_at: null, complete_up_to: at(-700_000) },
    {},
    'ok',
    [],
  ],
  [
    'that is complete up to the year 9999',
    { complete_up_to: '9999-12-31T23:59:59.000Z' },
    {},
    'attention',
    ['feed_ahead'],
  ],
  ['that is complete up to no time', { complete_up_to: 'garbage' }, {}, 'attention', ['feed_ahead']],
  ['that no configuration follows', {}, { followed: false }, 'attention', ['unfollowed']],
  [
    'that no configuration has followed for long',
    { last_tick_at: at(-9_000) },
    { followed: false },
    'attention',
    ['unfollowed'],
  ],
  ['with records in quarantine', { quarantineOpen: 1 }, {}, 'attention', []],
  [
    'for which its daemon reports a failure',
    {},
    { reports: [{ ...report, severity: 'ill' }] },
    'failing',
    ['daemon'],
  ],
  [
    'for which its daemon reports a warning',
    {},
    { reports: [{ ...report, severity: 'attention' }] },
    'attention',
    ['daemon'],
  ],
  ['that is halted', { state: 'halted', last_outcome: 'failed' }, {}, 'attention', []],
  ['whose last tick failed', { last_outcome: 'failed', complete_up_to: at(-700_000) }, {}, 'failing', []],
  ['that is listed for the first time', { state: 'listing' }, {}, 'working', []],
])('judgeSource: a source %s', (_, some, around, health, codes) => {
  const judged = judgeSource({ ...facts, ...some }, { ...surroundings, ...around });
  expect(judged.health).toBe(health);
  expect(judged.concerns.map(({ code }) => code)).toEqual(codes);
});

const none = { reason: null, disconnected_at: null, erase_after: null, erased_at: null };

test.each<[NonNullable<Surroundings['disconnected']>, string]>([
  [none, 'disconnected since an unknown time; its rows stay'],
  [
    { ...none, disconnected_at: at(-9), reason: 'rule_removed', erase_after: at(60) },
    `disconnected since ${at(-9)} (rule removed); its rows are erased after ${at(60)}`,
  ],
  [
    { ...none, disconnected_at: at(-9), erase_after: at(-5), erased_at: at(-1) },
    `disconnected since ${at(-9)}; its rows were erased at ${at(-1)}`,
  ],
])('judgeSource: a disconnected source is healthy, however old its last tick: %j', (disconnected, text) => {
  expect(judgeSource({ ...facts, last_tick_at: null }, { ...surroundings, disconnected })).toEqual({
    ...{ health: 'ok', stale: false, followed: false },
    concerns: [{ code: 'disconnected', text }],
  });
});

const fine: OverallFacts = {
  ...{ state: 'following', last_outcome: 'done', health: 'ok', stale: false, paused_at: null, follow: null },
};

test.each<[string, Partial<OverallFacts>]>([
  ['fine', {}],
  ['fine', { follow: { state: 'connected' } }],
  ['waiting', { health: 'working' }],
  ['attention', { health: 'attention' }],
  ['stale', { stale: true, health: 'failing' }],
  ['failing', { last_outcome: 'failed', stale: true, health: 'failing' }],
  ['paused', { paused_at: at(-9), last_outcome: 'failed', health: 'failing' }],
  ['halted', { state: 'halted', paused_at: at(-9), last_outcome: 'failed', health: 'attention' }],
  ['disconnected', { follow: { state: 'disconnected' }, state: 'halted', health: 'attention' }],
  ['erased', { follow: { state: 'erased' }, state: 'halted' }],
])('overallStateOf: the most important state of a source is shown: %s of %j', (state, some) => {
  expect(overallStateOf({ ...fine, ...some })).toBe(state);
});
