import { describe, expect, test } from 'vitest';
import type { Cents } from '../../src/domain/money.js';
import {
  type ChangeToReport,
  decideNotices,
  foldNotices,
  type Rules,
} from '../../src/outbox/decide-notices.js';
import { change, gone, none } from './samples.js';

const noticesFor = (one: ChangeToReport, rules: Rules = {}) =>
  decideNotices([one], [{ name: 'hook', rules }]);
const text = (one: ChangeToReport) => JSON.parse(noticesFor(one)[0]?.body ?? '{"text":null}').text;
const cents = (value: number) => value as Cents;
const status = change({ statusAfter: 'executed' });

describe('notices: the text of a notice', () => {
  test.each<[string, ChangeToReport, string]>([
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
      'another amount in another currency',
      change({ committedCentsAfter: cents(7), currencyBefore: 'eur' }),
      'acme: investment inv_1: commitment 2,500.00 EUR → 0.07 USD',
    ],
    [
      'the same amount in another currency',
      change({ currencyBefore: 'eur' }),
      'acme: investment inv_1: commitment 2,500.00 EUR → 2,500.00 USD',
    ],
    [
      'an amount whose currency was not known before',
      change({ committedCentsAfter: cents(7), currencyBefore: null }),
      'acme: investment inv_1: commitment 2,500.00 → 0.07 USD',
    ],
    [
      'a tombstone',
      change({ kind: 'removed', ...gone }),
      'acme: investment inv_1 is gone, was 2,500.00 USD, active, PENDING',
    ],
  ])('the notice for %s', (_, one, words) => {
    expect(text(one)).toBe(words);
  });

  test('notices: a notice as data has ids and amounts and nothing else', () => {
    expect(JSON.parse(noticesFor(status)[0]?.body ?? '')).toEqual({
      type: 'investment.changed',
      source: 'acme',
      id: 'inv_1',
      seq: 7,
      at: '2026-10-20T12:00:00.000Z',
      company_id: 'co_1',
      offering_id: 'ofr_1',
      company_name: null,
      round_name: null,
      currency: 'usd',
      converted_from: null,
      before: { status: 'active', group_label: 'PENDING', committed_cents: 250_000, currency: 'usd' },
      after: { status: 'executed', group_label: 'PENDING', committed_cents: 250_000, currency: 'usd' },
      text: 'acme: investment inv_1: status active → executed',
    });
  });
});

test('notices: a record that was converted earlier is not reported as converted again', () => {
  const [draft] = noticesFor(change({ statusAfter: 'executed', convertedFrom: 'inv_0' }));
  expect(JSON.parse(draft?.body ?? '')).toMatchObject({
    converted_from: null,
    text: 'acme: investment inv_1: status active → executed',
  });
});

test('notices: the round is shown by its name, with company and round beside the ids', () => {
  const [draft] = decideNotices([change({ kind: 'added' })], [{ name: 'hook', rules: {} }], () => ({
    company: 'Tidal Labs',
    round: 'Seed SAFE 2025',
  }));
  const notice = JSON.parse(draft?.body ?? '{}') as Readonly<Record<string, unknown>>;
  expect(notice).toMatchObject({
    company_name: 'Tidal Labs',
    round_name: 'Seed SAFE 2025',
    offering_id: 'ofr_1',
  });
  expect(notice.text).toContain('new investment inv_1 in Seed SAFE 2025, ');
});

const noAmount = { committedCentsBefore: null, committedCentsAfter: null };

describe('notices: changes without a notice', () => {
  test.each<[string, Partial<ChangeToReport>]>([
    ['shares, escrow, blockers or a profile', { fields: ['shares', 'in_escrow_cents', 'identity.name'] }],
    ['a recomputed record', { statusAfter: 'executed', reason: 'recomputed' }],
    ['a reprojected record', { statusAfter: 'executed', reason: 'reprojected' }],
    ['a first listing', { kind: 'snapshot', ...none }],
    ['a currency that was not known before', { fields: ['currency'], currencyBefore: null }],
    ['another currency of no amount', { ...{ ...noAmount, currencyBefore: 'eur' }, fields: ['currency'] }],
    ['a conversion known before', { fields: ['shares'], convertedFrom: 'inv_0' }],
  ])('no notice for %s', (_, more) => {
    expect(noticesFor(change(more))).toEqual([]);
  });

  test('a removed record gets a notice, whatever it was last published for', () => {
    expect(noticesFor(change({ kind: 'removed', ...gone, reason: 'recomputed' }))).toHaveLength(1);
  });

  test('a listing notifies of differences, whatever its record was last published for', () => {
    expect(
      noticesFor(change({ statusAfter: 'executed', reason: 'recomputed', origin: 'listing' })),
    ).toHaveLength(1);
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
])('notices: rules %j match: %s', (rules, wanted) => {
  expect(noticesFor(status, rules)).toHaveLength(wanted ? 1 : 0);
});

test('notices: the fields rule narrows changes only, since a new record has no changed fields', () => {
  expect(noticesFor(change({ kind: 'added', ...none, fields: [] }), { fields: ['status'] })).toHaveLength(1);
});

describe('notices: merging two notices', () => {
  const body = (one: ChangeToReport) => noticesFor(one)[0]?.body ?? '';
  test('a merged notice goes from before the first to after the last', () => {
    const later = change({ seq: 9, statusBefore: 'executed', statusAfter: 'canceled' });
    const folded = JSON.parse(foldNotices(body(status), body(later)) ?? '');
    expect(folded).toMatchObject({ seq: 9, text: 'acme: investment inv_1: status active → canceled' });
  });
  test('a merged notice has the currency of each state, also after a notice of an earlier version', () => {
    const first = body(change({ committedCentsAfter: cents(1), currencyBefore: 'eur', currency: 'eur' }));
    const last = body(change({ committedCentsAfter: cents(2), currencyBefore: 'eur' }));
    const earlier = JSON.stringify(JSON.parse(first), (key, value) => {
      if (key !== 'before' && key !== 'after') return value;
      const { currency: _, ...state } = value;
      return state;
    });
    for (const one of [first, earlier])
      expect(JSON.parse(foldNotices(one, last) ?? '')).toMatchObject({
        before: { currency: 'eur' },
        after: { currency: 'usd' },
        text: 'acme: investment inv_1: commitment 2,500.00 EUR → 0.02 USD',
      });
  });
  test('two notices that cancel out merge into none', () => {
    const back = change({ statusBefore: 'executed', statusAfter: 'active' });
    expect(foldNotices(body(status), body(back))).toBeNull();
    const added = change({ kind: 'added', ...none });
    expect(foldNotices(body(added), body(change({ kind: 'removed', ...gone })))).toBeNull();
  });
  test('a conversion and the end of its record merge into no notice: the receiver heard of neither', () => {
    const converted = change({ kind: 'added', ...none, convertedFrom: 'inv_0' });
    expect(foldNotices(body(converted), body(change({ kind: 'removed', ...gone })))).toBeNull();
  });
  test('a merged notice keeps the type: new stays new, removed stays removed', () => {
    const added = body(change({ kind: 'added', ...none }));
    expect(JSON.parse(foldNotices(added, body(status)) ?? '').type).toBe('investment.added');
    const removed = body(change({ kind: 'removed', ...gone }));
    expect(JSON.parse(foldNotices(body(status), removed) ?? '').type).toBe('investment.removed');
  });
});
