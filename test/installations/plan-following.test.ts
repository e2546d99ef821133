import { expect, test } from 'vitest';
import type { InstallationId, SourceName } from '../../src/domain/ids.js';
import {
  isErasureDue,
  isOpen,
  planListing,
  planRules,
  type Rule,
} from '../../src/installations/plan-following.js';
import type { FollowedSource, ListedInstallation } from '../../src/installations/ports.js';
import { at } from './fake-application.js';

const rule = {
  ...{ rule: 'crm', target: 'company', name: '{slug}', keepDays: null },
  overrides: new Map(),
};

const installed = (id: string) => ({
  ...{ id: id as InstallationId, target: `co_${id}`, targetType: 'company', targetName: 'Acme' },
  ...{ isActive: true, revokedAt: null },
});

function planned(count: number, except: readonly string[] = []) {
  let looked = 0;
  const isTaken = (name: string) => {
    looked += 1;
    return name === 'acme-2';
  };
  const ids = Array.from({ length: count }, (_, at) => `inst_${at}`);
  const { changes } = planListing(
    { ...rule, except: except as readonly InstallationId[] },
    { installations: ids.map(installed), isComplete: true },
    { realm: 'test', rows: [], isTaken, ruleNames: new Set(['crm']) },
    0,
  );
  return { names: changes.map(({ next }) => next.source), looked };
}

test('companies of one name get the first free numbers in turn, also behind one that is excepted', () => {
  expect(planned(4).names).toEqual(['acme', 'acme-3', 'acme-4', 'acme-5']);
  expect(planned(4, ['inst_1']).names).toEqual(['acme', 'acme-3', 'acme-4']);
});

test('the names of a thousand companies of one name are found without trying all earlier numbers for each', () => {
  const { names, looked } = planned(1_000);
  expect(new Set(names).size).toBe(1_000);
  expect(looked).toBeLessThan(3_000);
});

const stored: FollowedSource = {
  ...{ source: 'acme' as SourceName, rule: 'crm', realm: 'test', targetType: 'company', target: 'co_1' },
  ...{
    installation: 'inst_1' as InstallationId,
    state: 'connected',
    reason: null,
    scopes: ['read:investments'],
  },
  ...{ mints: 3, lastMintAt: at(1), firstSeenAt: at(1), connectedAt: at(1), disconnectedAt: null },
  ...{ eraseAfter: null, erasedAt: null, erasedRows: null },
};
const ended = { disconnectedAt: at(2), scopes: null };
const states = {
  connected: stored,
  waiting: { ...stored, state: 'waiting', scopes: null },
  excepted: { ...stored, ...ended, state: 'disconnected', reason: 'excepted' },
  revoked: { ...stored, ...ended, state: 'disconnected', reason: 'revoked', eraseAfter: at(32) },
  gone: { ...stored, ...ended, state: 'disconnected', reason: 'gone', eraseAfter: at(32) },
  erased: { ...stored, ...ended, state: 'erased', reason: 'revoked', erasedAt: at(32) },
  forgotten: { ...stored, ...ended, state: 'disconnected', reason: 'forgotten' },
  'forgotten and erased': { ...stored, ...ended, state: 'erased', reason: 'forgotten' },
} satisfies Record<string, FollowedSource>;
type State = keyof typeof states;

const crm: Rule = { ...rule, keepDays: 30, except: [] };
const now = Date.parse(at(5));
const one = { ...installed('inst_1'), target: 'co_1' };
const plan = (before: FollowedSource, installations: readonly ListedInstallation[], by = crm) =>
  planListing(
    by,
    { installations, isComplete: true },
    { realm: 'test', rows: [before], isTaken: () => false, ruleNames: new Set(['crm']) },
    now,
  ).changes.map(({ next }) => next);

test.each<[State, boolean]>([
  ['connected', true],
  ['waiting', true],
  ['excepted', true],
  ['revoked', false],
  ['gone', false],
  ['erased', false],
  ['forgotten', false],
  ['forgotten and erased', false],
])('a source that is %s ends with its installation: %s', (state, ends) => {
  const revoked = { ...one, isActive: false, revokedAt: at(4) };
  const next = {
    state: 'disconnected',
    reason: 'revoked',
    disconnectedAt: at(4),
    eraseAfter: at(34),
    scopes: null,
  };
  expect(plan(states[state], [revoked])).toEqual(ends ? [{ ...states[state], ...next }] : []);
});

test.each<[State, boolean]>([
  ['connected', false],
  ['waiting', false],
  ['excepted', true],
  ['revoked', true],
  ['erased', true],
  ['forgotten', false],
  ['forgotten and erased', false],
])('a source that is %s waits for a token of its active installation: %s', (state, waits) => {
  const again = { state: 'waiting', reason: null, scopes: null, disconnectedAt: null, eraseAfter: null };
  // The requests for tokens of this installation stay counted, and another one begins anew.
  expect(plan(states[state], [one])).toEqual(waits ? [{ ...states[state], ...again }] : []);
  const other = { ...one, id: 'inst_2' as InstallationId };
  const anew = { ...again, installation: 'inst_2', mints: 0, lastMintAt: null };
  const isForgotten = states[state].reason === 'forgotten';
  expect(plan(states[state], [other])).toEqual(isForgotten ? [] : [{ ...states[state], ...anew }]);
});

test.each<State>(['connected', 'waiting', 'excepted', 'revoked', 'erased', 'forgotten'])(
  'a source that is %s ends without its rule, or when the rule excepts it, only while it is followed',
  (state) => {
    const before = states[state];
    const wasOpen = isOpen(before);
    const end = { ...before, state: 'disconnected', scopes: null, disconnectedAt: at(5) };
    const except = { ...crm, except: [one.id] };
    expect(plan(before, [one], except)).toEqual(wasOpen ? [{ ...end, reason: 'excepted' }] : []);
    const ofNone = planRules(new Map(), [before], now).map(({ next }) => next);
    expect(ofNone).toEqual(wasOpen ? [{ ...end, reason: 'rule_removed' }] : []);
    const known = { rule: crm, realm: 'test' } as const;
    expect(planRules(new Map([['crm', known]]), [before], now)).toEqual([]);
  },
);

test('of several active installations of a company, the stored one stays', () => {
  const other = { ...one, id: 'inst_2' as InstallationId };
  expect(plan(stored, [one, other])).toEqual([]);
  expect(plan(stored, [other, one])).toEqual([]);
});

test('rows are due to be erased at the end of their last day, those of a forgotten source at once', () => {
  expect(isErasureDue(states.revoked, Date.parse(at(32)) - 1)).toBe(false);
  expect(isErasureDue(states.revoked, null)).toBe(false);
  expect(isErasureDue({ ...states.revoked, reason: 'forgotten' }, null)).toBe(true);
  expect(isErasureDue(states.revoked, Date.parse(at(32)))).toBe(true);
  expect(isErasureDue({ ...states.revoked, state: 'erased' }, Date.parse(at(33)))).toBe(false);
});

test.each([
  ['before now', at(4), at(4)],
  ['now', at(5), at(5)],
  ['in the future of this clock', at(9), at(5)],
  ['not stated', null, at(5)],
])(
  'the end of an installation that is %s is stored as a time that is not in the future',
  (_, revokedAt, expected) => {
    const [next] = plan(stored, [{ ...one, isActive: false, revokedAt }]);
    expect(next?.disconnectedAt).toBe(expected);
  },
);
