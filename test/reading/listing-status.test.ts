import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { type ListingParts, listingOf } from '../../src/reading/listing-status.js';
import type { WebhookSpacing } from '../../src/reading/webhook-spacing.js';
import { load, minimal } from '../config/load-config.js';

const now = Date.parse('2026-10-20T13:30:00.000Z');
const at = (minutes: number) => instantFromMillis(now + minutes * 60_000);

type Source = ListingParts['source'];

/** A first listing that began ten minutes ago and has read 100 of 1,000 pages. */
const listing = {
  source: 'acme',
  state: 'listing',
  readable: 0,
  rows: 0,
  rows_incoming: 10_000,
  pages_incoming: 100,
  rows_expected: 100_000,
  listing_started_at: at(-10),
  last_tick_at: null,
  last_error_code: null,
  retry_at: null,
  paused_at: null,
  ticks: [],
} as unknown as Source;

const spacing: WebhookSpacing = {
  ...{ reason: 'plenty', gap_seconds: 0, wait_seconds: 0 },
  quota: { of: 'token', limit: 1_000, left: 1_000, resets_at: at(30), shared_by: 1, shared_elsewhere: 0 },
};
const tick = (minutes: number, took_ms: number, pages: number) => ({
  started_at: at(minutes),
  took_ms,
  pages,
});
const configOf = (platform: object = {}, sources: readonly object[] = minimal.sources): Config =>
  load({ ...minimal, platform: { ...minimal.platform, ...platform }, sources }).config;

const seen = (source: object, over: Partial<ListingParts> = {}) =>
  listingOf({
    ...{ config: configOf(), listing: ['acme'], sourcesCount: 1, now, spacing, since: at(-20), inTurn: 4 },
    source: { ...listing, ...source },
    ...over,
  });

test('a source without a listing in progress has no progress', () => {
  expect(seen({ listing_started_at: null })).toBe(null);
});

test.each<[string, object, object, number]>([
  // 900 pages at 6 s.
  ['is measured by the tick that began the listing', {}, {}, 5_400],
  [
    'is measured by the ticks of the listing once one has ended, without the waits between them',
    { last_tick_at: at(-8), ticks: [tick(-9, 50_000, 50), tick(-7, 90_000, 0), tick(-400, 1, 1)] },
    {},
    900,
  ],
  ['is measured by a tick that ended when the listing began', { ticks: [tick(-11, 60_000, 100)] }, {}, 540],
  ['counts after a wait that has ended', { retry_at: at(0), last_error_code: 'unreachable' }, {}, 5_400],
  ['counts alone without limits', {}, { requestsPerHour: null }, 5_400],
])('the speed of a listing %s', (_, source, platform, seconds) => {
  expect(seen(source, { config: configOf(platform) })?.seconds_left).toBe(seconds);
});

test.each<[string, () => Partial<ListingParts>]>([
  ['began when its daemon started', () => ({ since: at(-10) })],
  [
    'has no limit, and its daemon knows of none',
    () => ({ config: configOf({ requestsPerHour: null }), spacing: { ...spacing, quota: null } }),
  ],
  ['is seen without a configuration', () => ({ config: null })],
])('the time left is known of a listing that %s', (_, over) => {
  expect(seen({}, over())?.seconds_left).toBe(5_400);
});

test.each<[string, object, Partial<ListingParts>]>([
  ['is halted', { state: 'halted' }, {}],
  ['is paused', { paused_at: at(-1) }, {}],
  ['waits for another reason than the quota', { retry_at: at(5), last_error_code: 'unreachable' }, {}],
  ['is read by no daemon of this host', {}, { spacing: null }],
  ['has sent no request yet', {}, { spacing: { ...spacing, quota: null } }],
  [
    'has the limit of the address before it',
    {},
    { spacing: { ...spacing, quota: { ...spacing.quota, of: 'address' } } as WebhookSpacing },
  ],
  ['is one of so many that they share the limit of the address', {}, { sourcesCount: 200 }],
  ['is one of more than are listed at the same time', {}, { inTurn: 5 }],
  ['is read by a daemon that started after one that was killed', {}, { since: at(-5) }],
  ['has read no page', { rows_incoming: 0, pages_incoming: 0 }, {}],
  ['ended a tick at the moment at which its listing began', { last_tick_at: at(-10) }, {}],
  ['ended ticks that the status does not describe', { last_tick_at: at(-8) }, {}],
])('the time left is not known of a source that %s', (_, source, over) => {
  const left = seen(source, over);
  expect([left?.rows_expected, left?.seconds_left]).toEqual([100_000, null]);
});

test('a listing that waits for the quota is estimated without a daemon and without a configuration', () => {
  const waits = {
    retry_at: at(20),
    last_error_code: 'rate_limited',
    last_tick_at: at(-5),
    ticks: [tick(-9, 100_000, 100)],
  };
  expect(seen(waits, { spacing: null, config: null })).toMatchObject({
    ...{ requests_left: 0, continues_at: at(20), seconds_waiting: 20 * 60, seconds_left: 20 * 60 + 900 },
    text: "10,000 of about 100,000 records, some 35 min left, of which 20 min wait for the hour's quota (continues at 13:50 UTC)",
  });
});

test('a re-listing expects about as many records as are stored', () => {
  const relisting = { state: 'relisting', readable: 1, rows: 40_000, rows_expected: null };
  expect(seen(relisting)).toMatchObject({ rows: 10_000, rows_expected: 40_000 });
  expect(seen({ rows_expected: null })?.rows_expected).toBeNull();
});

const credentials = (name: string) => ({ kind: 'credentials', at: { file: name } });
const stored = (key: string) => ({ kind: 'stored', key });

test.each<[string, object, object]>([
  ['token', { kind: 'token', token: { origin: 'a' } }, { kind: 'token', token: { origin: 'b' } }],
  ['sign-in', credentials('a'), credentials('b')],
  ['stored token', stored('a'), stored('b')],
])('listings of one %s share what is left, those of another one do not', (_, access, other) => {
  const config = configOf();
  const sources = ['other', 'acme', 'beta', 'idle'].map((name) => ({
    ...config.sources[0],
    ...{ name, access: name === 'other' ? other : access },
  }));
  const left = (names: readonly string[], source = 'acme') =>
    seen({ source }, { config: { ...config, sources } as unknown as Config, listing: names })?.requests_left;
  expect([left(['acme']), left(['acme', 'other']), left(['acme', 'beta', 'other'])]).toEqual([950, 950, 475]);
  // A followed source is in no configuration.
  expect(left(['followed', 'acme'], 'followed')).toBe(950);
});
