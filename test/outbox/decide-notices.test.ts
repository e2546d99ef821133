import { describe, expect, test } from 'vitest';
import type { Cents } from '../../src/domain/money.js';
import {
  type ChangeToTell,
  decideNotices,
  foldNotices,
  type Rules,
} from '../../src/outbox/decide-notices.js';
import { change, gone, none } from './samples.js';

const told = (one: ChangeToTell, rules: Rules = {}) => decideNotices([one], [{ name: 'hook', rules }]);
const text = (one: ChangeToTell) => JSON.parse(told(one)[0]?.body ?? '{"text":null}').text;
const cents = (value: number) => value as Cents;
const status = change({ statusAfter: 'executed' });

describe('what is told, in words', () => {
  test.each<[string, ChangeToTell, string]>([
    [
      'a new record',
      change({ kind: 'added', ...none }),
      'acme: new investment inv_1, 2,500.00 USD, active, PENDING',
    ],
    [
      'a reservation',
      change({ kind: 'added', ...none, statusAfter: 'reserved', groupAfter: null }),
      'acme: new reservation inv_1, 2,500.00 USD, reserved',
    ],
    [
      'a conversion that brings a record',
      change({ kind: 'added', ...none, convertedFrom: 'inv_0' }),
      'acme: inv_0 was converted to inv_1, 2,500.00 USD, active, PENDING',
    ],
    [
      'a conversion seen later',
      change({ fields: ['converted_from'], convertedFrom: 'inv_0' }),
      'acme: investment inv_1: converted from inv_0',
    ],
    ['another status', status, 'acme: investment inv_1: status active → executed'],
    ['another group', change({ groupAfter: null }), 'acme: investment inv_1: group PENDING → none'],
    [
      'another amount, to the cent',
      change({ committedCentsBefore: cents(5), committedCentsAfter: cents(123_456_789_01) }),
      'acme: investment inv_1: commitment 0.05 USD → 123,456,789.01 USD',
    ],
    [
      'a tombstone',
      change({ kind: 'removed', ...gone }),
      'acme: investment inv_1 is gone, was 2,500.00 USD, active, PENDING',
    ],
  ])('%s', (_, one, words) => {
    expect(text(one)).toBe(words);
  });

  test('as data, with ids and amounts and nothing else', () => {
    expect(JSON.parse(told(status)[0]?.body ?? '')).toEqual({
      type: 'investment.changed',
      ...{ source: 'acme', id: 'inv_1', seq: 7, at: '2026-10-20T12:00:00.000Z' },
      ...{ company_id: 'co_1', offering_id: 'ofr_1', currency: 'usd', converted_from: null },
      before: { status: 'active', group_label: 'PENDING', committed_cents: 250_000 },
      after: { status: 'executed', group_label: 'PENDING', committed_cents: 250_000 },
      text: 'acme: investment inv_1: status active → executed',
    });
  });
});

describe('nothing is told', () => {
  test.each<[string, Partial<ChangeToTell>]>([
    ['of shares, escrow, blockers or a profile', { fields: ['shares', 'in_escrow_cents', 'identity.name'] }],
    ['of what was recomputed', { statusAfter: 'executed', reason: 'recomputed' }],
    ['of what was reprojected', { statusAfter: 'executed', reason: 'reprojected' }],
    ['of a first listing', { kind: 'snapshot' }],
    ['of a conversion known before', { fields: ['shares'], convertedFrom: 'inv_0' }],
  ])('%s', (_, more) => {
    expect(told(change(more))).toEqual([]);
  });

  test('but a listing tells what differs, whatever its record was published for last', () => {
    expect(told(change({ statusAfter: 'executed', reason: 'recomputed', origin: 'listing' }))).toHaveLength(
      1,
    );
  });
});

test.each<[Rules, boolean]>([
  [{ sources: ['acme'] }, true],
  [{ sources: ['other'] }, false],
  [{ kinds: ['changed'] }, true],
  [{ kinds: ['added', 'removed'] }, false],
  [{ fields: ['status'] }, true],
  [{ fields: ['committed_cents'] }, false],
  [{ statuses: ['executed'] }, true],
  [{ statuses: ['active'] }, true],
  [{ statuses: ['reserved'] }, false],
  [{ minCommittedCents: 250_000 }, true],
  [{ minCommittedCents: 250_001 }, false],
  [{ sources: ['acme'], kinds: ['removed'] }, false],
])('rules %j: %s', (rules, wanted) => {
  expect(told(status, rules)).toHaveLength(wanted ? 1 : 0);
});

test('fields narrow changes only; a new record has none that changed', () => {
  expect(told(change({ kind: 'added', ...none, fields: [] }), { fields: ['status'] })).toHaveLength(1);
});

describe('two notices fold into one', () => {
  const body = (one: ChangeToTell) => told(one)[0]?.body ?? '';
  test('that goes from before the first to after the last', () => {
    const later = change({ seq: 9, statusBefore: 'executed', statusAfter: 'canceled' });
    const folded = JSON.parse(foldNotices(body(status), body(later)) ?? '');
    expect(folded).toMatchObject({ seq: 9, text: 'acme: investment inv_1: status active → canceled' });
  });
  test('that is none when all is as before', () => {
    const back = change({ statusBefore: 'executed', statusAfter: 'active' });
    expect(foldNotices(body(status), body(back))).toBeNull();
    const added = change({ kind: 'added', ...none });
    expect(foldNotices(body(added), body(change({ kind: 'removed', ...gone })))).toBeNull();
  });
  test('that is new when it was new, and gone when it is gone', () => {
    const added = body(change({ kind: 'added', ...none }));
    expect(JSON.parse(foldNotices(added, body(status)) ?? '').type).toBe('investment.added');
    const removed = body(change({ kind: 'removed', ...gone }));
    expect(JSON.parse(foldNotices(body(status), removed) ?? '').type).toBe('investment.removed');
  });
});
