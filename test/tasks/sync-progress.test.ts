import { expect, test } from 'vitest';
import type { LimitLeft } from '../../src/client/create-client.js';
import type { PlatformConnection } from '../../src/daemon/connect-platform.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import type { SourceStatus } from '../../src/reading/status.js';
import { SyncProgress } from '../../src/tasks/sync-progress.js';
import { load } from '../config/load-config.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const page = { mode: 'listing', size: 100, hasMore: true, next: 'n', publishedThrough: null } as const;
const status = (source: string, more: object): SourceStatus =>
  ({
    source,
    readable: 0,
    rows: 0,
    rows_incoming: 0,
    rows_expected: null,
    listing_started_at: null,
    ...more,
  }) as never;

interface World {
  readonly statuses?: readonly SourceStatus[];
  readonly relists?: boolean;
  readonly sync?: object;
  readonly platform?: object;
  /** By source; sources with the same key share a limit. */
  readonly limits?: Readonly<Record<string, Partial<LimitLeft>>>;
}

function begun(
  names: readonly string[],
  { statuses = [], relists = false, sync = {}, platform, limits = {} }: World,
) {
  const { config } = load({
    platform: { baseUrl: 'https://api.example.com', ...platform },
    sources: names.map((name) => ({
      name,
      token: { env: name.toUpperCase() },
      filters: { offeringId: `ofr_${name}` },
    })),
    sync,
  });
  const clock = new VirtualClock();
  const limitsOf = (name: string): readonly LimitLeft[] => [
    { key: name, kind: 'token', limit: 1_000, left: 900, resetsInMillis: 1_800_000, ...limits[name] },
  ];
  const client = { limitsOf: (tokens: unknown) => limitsOf(String(tokens)) };
  const tokensOf = ({ token }: { readonly token: { readonly variable: string } }) =>
    token.variable.toLowerCase();
  const connection = { client, tokensOf } as unknown as PlatformConnection;
  const progress = new SyncProgress(config.sources, statuses, relists, {
    config,
    clock,
    platform: connection,
  });
  /** Reads pages of a source, one a second. */
  const read = (name: string, pages: number) => {
    for (let one = 0; one < pages; one += 1) {
      clock.jump(1_000);
      progress.page(name, page);
    }
  };
  return { progress, clock, read };
}

test('the progress of a sync counts the records that its listing had read before, and what is expected of it', () => {
  const before = status('acme', { listing_started_at: 'then', rows_incoming: 4_000, rows_expected: 10_000 });
  const { progress, read } = begun(['acme'], { statuses: [before] });
  read('acme', 4);
  expect(progress.sofar).toMatchObject({
    ...{ pages: 4, rows: 4_400, rowsTotal: 10_000 },
    listing: { rows: 4_400, seconds_left: 56, requests_left: 850 },
  });
});

test('a listing that begins again reads as many records as are stored, from the first one', () => {
  const before = status('acme', { readable: 1, rows: 1_000, listing_started_at: 'then', rows_incoming: 900 });
  const { progress, read } = begun(['acme'], { statuses: [before], relists: true });
  read('acme', 4);
  expect(progress.sofar).toMatchObject({ rows: 400, rowsTotal: 1_000, listing: { seconds_left: 6 } });
  // Again, because its position has expired.
  progress.page('acme', page, true);
  expect(progress.sofar).toMatchObject({ rows: 100, rowsTotal: 1_000, listing: { rows: 100 } });
});

test('a sync that only follows the feed has no listing, and one that read its last page has none either', () => {
  const following = begun(['acme'], { statuses: [status('acme', { readable: 1, rows: 500 })] });
  following.progress.page('acme', { ...page, mode: 'delta' });
  expect(following.progress.sofar).toMatchObject({ rows: 100, listing: null });
  const { progress, read } = begun(['acme'], {});
  read('acme', 3);
  expect(progress.sofar.listing).toMatchObject({ rows: 300, rows_expected: null });
  progress.page('acme', { ...page, hasMore: false });
  expect(progress.sofar.listing).toBe(null);
});

test('the time that a sync spent waiting is no time of its pages', () => {
  const { progress, clock, read } = begun(['acme'], {});
  progress.expects('acme', 1_000);
  read('acme', 5);
  clock.jump(3_600_000);
  progress.waited('acme', 3_600_000);
  expect(progress.sofar.listing?.seconds_left).toBe(5);
});

test('a wait that the platform asked for counts, also of a platform without limits', () => {
  const { progress, clock, read } = begun(['acme'], { platform: { requestsPerHour: null } });
  progress.expects('acme', 1_000);
  read('acme', 5);
  const until = instantFromMillis(clock.now() + 600_000);
  progress.waits('acme', until);
  expect(progress.sofar.listing).toMatchObject({
    ...{ seconds_left: 605, seconds_waiting: 600, continues_at: until, requests_left: 0 },
  });
  clock.jump(600_000);
  progress.waited('acme', 600_000);
  expect(progress.sofar.listing).toMatchObject({ seconds_left: 5, seconds_waiting: 0, requests_left: null });
});

test('listings of one token share its requests, and the total is known once it is known of each', () => {
  const limits = { beta: { key: 'acme' } };
  const { progress, read } = begun(['acme', 'beta', 'gamma'], { limits });
  for (const name of ['acme', 'beta', 'gamma']) read(name, 3);
  progress.expects('acme', 1_000);
  expect(progress.sofar).not.toHaveProperty('rowsTotal');
  for (const name of ['beta', 'gamma']) progress.expects(name, 1_000);
  expect(progress.sofar).toMatchObject({ rowsTotal: 3_000, listing: { requests_left: 425 + 425 + 850 } });
});

test('listings of one token that wait share the requests of the hours that follow', () => {
  const { progress, clock, read } = begun(['acme', 'beta'], { limits: { beta: { key: 'acme' } } });
  const until = instantFromMillis(clock.now() + 600_000);
  for (const name of ['acme', 'beta']) {
    read(name, 4);
    progress.expects(name, 50_400);
    progress.waits(name, until);
  }
  // 500 pages each, of which 475 fit into the first hour.
  const wait = (Date.parse(until) - clock.now()) / 1_000;
  expect(progress.sofar.listing?.seconds_waiting).toBe(wait + 3_600 - 475 * 2);
});

test('the time left is not known before three pages were read, and of more listings than run at the same time', () => {
  const { progress, read } = begun(['acme', 'beta'], { sync: { concurrency: 1 } });
  for (const name of ['acme', 'beta']) progress.expects(name, 1_000);
  read('acme', 3);
  expect(progress.sofar.listing?.seconds_left).toBe(null);
  progress.page('beta', { ...page, hasMore: false });
  expect(progress.sofar.listing?.seconds_left).toBe(7);
  const few = begun(['acme'], {});
  few.progress.expects('acme', 1_000);
  few.read('acme', 2);
  expect(few.progress.sofar.listing?.seconds_left).toBe(null);
});
