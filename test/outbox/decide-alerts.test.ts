import { expect, test } from 'vitest';
import {
  alertBody,
  alertTargets,
  type Condition,
  decideAlerts,
  type OpenAlert,
} from '../../src/outbox/decide-alerts.js';

const now = Date.parse('2026-11-01T12:00:00.000Z');
const minute = 60_000;
const at = (millis: number) => new Date(now + millis).toISOString() as OpenAlert['since'];
const halted: Condition = { kind: 'halted', source: 'acme', text: 'acme: waits for a person' };
const disk: Condition = { kind: 'disk_low', source: null, text: 'the disk is almost full' };
const open = (condition: Condition, goneSince: OpenAlert['goneSince'] = null): OpenAlert => ({
  ...condition,
  key: condition.source === null ? condition.kind : `${condition.kind}.${condition.source}`,
  since: at(-60_000),
  goneSince,
});
const nothing = { raise: [], gone: [], back: [], resolve: [] };

test('alerts: a new condition is raised once, whatever its text later says', () => {
  const first = decideAlerts([halted, disk], [], now);
  expect(first).toEqual({
    ...nothing,
    raise: [
      { ...halted, key: 'halted.acme', since: at(0), goneSince: null },
      { ...disk, key: 'disk_low', since: at(0), goneSince: null },
    ],
  });
  expect(decideAlerts([{ ...halted, text: 'acme: another text' }, disk], first.raise, now + 1)).toEqual(
    nothing,
  );
});

test('alerts: a condition is resolved after five minutes without it, and one that comes back stays open', () => {
  expect(decideAlerts([], [open(halted)], now)).toEqual({ ...nothing, gone: ['halted.acme'] });
  expect(decideAlerts([], [open(halted, at(-5 * minute + 1))], now)).toEqual(nothing);
  expect(decideAlerts([halted], [open(halted, at(-60_000))], now)).toEqual({
    ...nothing,
    back: ['halted.acme'],
  });
  const over = open(halted, at(-5 * minute));
  expect(decideAlerts([], [over], now)).toEqual({ ...nothing, resolve: [over] });
});

test('alerts: a time that a wrong clock wrote does not keep an alert open', () => {
  const future = open(halted, at(90 * 86_400_000));
  expect(decideAlerts([], [future], now).resolve).toEqual([future]);
});

test('alerts: the message names kind, source and times, and says when it is over', () => {
  expect(JSON.parse(alertBody('alert.raised', open(halted), now))).toEqual({
    type: 'alert.raised',
    alert: 'halted',
    source: 'acme',
    since: at(-60_000),
    at: at(0),
    text: 'acme: waits for a person',
  });
  expect(JSON.parse(alertBody('alert.resolved', open(disk), now))).toMatchObject({
    type: 'alert.resolved',
    alert: 'disk_low',
    source: null,
    text: 'resolved: the disk is almost full',
  });
});

test('alerts: only receivers that want alerts get them, and only of their sources', () => {
  const receivers = [
    { name: 'deals', about: ['changes'], rules: {} },
    { name: 'ops', about: ['alerts'], rules: {} },
    { name: 'both', about: ['changes', 'alerts'], rules: { sources: ['beta'] } },
  ] as const;
  expect(alertTargets(halted, receivers)).toEqual(['ops']);
  expect(alertTargets({ kind: 'halted', source: 'beta' }, receivers)).toEqual(['ops', 'both']);
  expect(alertTargets(disk, receivers)).toEqual(['ops', 'both']);
});
