import { expect, test } from 'vitest';
import { aggregateConditions, alertsOfKindMax } from '../../src/outbox/aggregate-alerts.js';
import { alertTargets, type Condition } from '../../src/outbox/decide-alerts.js';

const none: ReadonlySet<string> = new Set();
const failing = (many: number, from = 1): readonly Condition[] =>
  Array.from({ length: many }, (_, index) => ({
    kind: 'failing',
    source: `source-${from + index}`,
    text: `source-${from + index}: has been failing`,
  }));
const sourcesOf = (conditions: readonly Condition[]) => conditions.map(({ source }) => source);

test('alerts: up to the limit, each source has an alert of its own', () => {
  const present = failing(alertsOfKindMax);
  expect(aggregateConditions(present, [], none)).toEqual(present);
});

test('alerts: 10,000 failing sources become one shared alert, and conditions of the daemon stay', () => {
  const disk: Condition = { kind: 'disk_low', source: null, text: 'the disk is almost full' };
  expect(aggregateConditions([...failing(10_000), disk], [], none)).toEqual([
    disk,
    {
      kind: 'failing',
      source: null,
      text: 'many sources have been failing for long, 10,000 at this time: rosterd sources list --state failing',
    },
  ]);
});

test('alerts: a kind without words for many sources stays one alert for each', () => {
  const present = failing(alertsOfKindMax + 1).map((one) => ({ ...one, kind: 'hook_failed' as const }));
  expect(aggregateConditions(present, [], none)).toEqual(present);
});

test('alerts: sources that already have an alert keep it beside the shared one', () => {
  const open = failing(alertsOfKindMax);
  const seen = aggregateConditions(failing(21), open, none);
  expect(sourcesOf(seen)).toEqual([...sourcesOf(open), null]);
});

test('alerts: a source that a receiver names keeps an alert of its own', () => {
  const seen = aggregateConditions(failing(500), [], new Set(['source-7']));
  expect(sourcesOf(seen)).toEqual(['source-7', null]);
});

test('alerts: a shared alert stays until fewer than half of the limit are left, which then get their own', () => {
  const open = [{ kind: 'failing', source: null }] as const;
  expect(sourcesOf(aggregateConditions(failing(11), open, none))).toEqual([null]);
  expect(sourcesOf(aggregateConditions(failing(10), open, none))).toEqual(sourcesOf(failing(10)));
});

test('alerts: a shared alert beside alerts of single sources stays as long as nothing changes', () => {
  const present = failing(alertsOfKindMax + 1);
  for (let many = 0; many <= alertsOfKindMax; many += 1) {
    const seen = aggregateConditions(present, failing(many), none);
    expect(sourcesOf(seen)).toEqual([...sourcesOf(failing(many)), null]);
    expect(aggregateConditions(present, seen, none)).toEqual(seen);
  }
});

test('alerts: more sources than the limit that receivers name need no shared alert', () => {
  const present = failing(alertsOfKindMax + 5);
  const named = new Set(present.map(({ source }) => source ?? ''));
  expect(aggregateConditions(present, [], named)).toEqual(present);
});

test('alerts: each kind has a limit of its own', () => {
  const halted = failing(3).map((one) => ({ ...one, kind: 'halted' as const }));
  const seen = aggregateConditions([...failing(21), ...halted], [], none);
  expect(seen.map(({ kind, source }) => `${kind} ${source}`)).toEqual([
    'failing null',
    ...['halted source-1', 'halted source-2', 'halted source-3'],
  ]);
});

test('alerts: a shared alert goes to receivers of all sources only', () => {
  const receivers = [
    { name: 'ops', about: ['alerts'], rules: {} },
    { name: 'acme', about: ['alerts'], rules: { sources: ['acme'] } },
  ] as const;
  expect(alertTargets({ kind: 'failing', source: null }, receivers)).toEqual(['ops']);
  expect(alertTargets({ kind: 'disk_low', source: null }, receivers)).toEqual(['ops', 'acme']);
  expect(alertTargets({ kind: 'failing', source: 'acme' }, receivers)).toEqual(['ops', 'acme']);
});
