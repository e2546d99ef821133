import nock from 'nock';
import { describe, expect, test } from 'vitest';
import { createApi } from '../../src/client/api.js';
import { withCaps } from '../../src/client/fetch/with-caps.js';
import {
  type FeedScope,
  investmentFeed,
  readInvestment,
  readOfferingStats,
} from '../../src/client/investments.js';
import type { Fault } from '../../src/domain/fault.js';
import type { Instant } from '../../src/domain/instant.js';
import type { Cursor, PageToken, Position } from '../../src/domain/position.js';
import { systemClock } from '../../src/runtime/clock.js';
import { headerNames } from '../../src/wire/headers.js';
import { deltaPage, tombstone, wholeRecord } from '../client/fixtures.js';
import { globalFetch } from './global-fetch.js';
import { onlyMocked } from './nocked-api.js';

const host = 'https://api.test';
const signal = new AbortController().signal;
const api = createApi({
  baseUrl: `${host}/`,
  fetch: withCaps(globalFetch),
  names: headerNames(),
  clock: systemClock,
});
const scope: FeedScope = { company: 'co_1', filters: { offering_id: 'ofr_1' }, perPage: 100 };

onlyMocked();

function listing(next: string, has_more: boolean) {
  return {
    data: [wholeRecord()],
    meta: { ...deltaPage().meta, mode: 'bootstrap', has_more, next_cursor: next },
  };
}

function changes(next_cursor: string, has_more: boolean) {
  return { data: [], meta: { ...deltaPage().meta, has_more, next_cursor } };
}

describe("the client's feed", () => {
  const read = (position: Position) => investmentFeed(api, scope, 'routine').page(position, signal);
  const base = { company_id: 'co_1', offering_id: 'ofr_1', per_page: '100' };

  test("a version retired under a stored position is reported as refused, not as another account's position", async () => {
    const error = { type: 'invalid_request', message: 'no', details: { valid_versions: ['2027-01-01'] } };
    nock(host).get('/investments').query(true).reply(400, { error });
    await expect(read({ kind: 'cursor', cursor: 'c_1' as Cursor })).rejects.toMatchObject({
      code: 'refused',
    });
  });

  test.each<[string, string, Position, object]>([
    ['a cursor', 'filters_changed', { kind: 'cursor', cursor: 'c_1' as Cursor }, { parameter: 'cursor' }],
    ['a cursor without a reason', 'filters_changed', { kind: 'cursor', cursor: 'c_1' as Cursor }, {}],
    ['a page', 'filters_changed', { kind: 'page', token: 'p_1' as PageToken }, { parameter: 'cursor' }],
    ['another parameter', 'refused', { kind: 'cursor', cursor: 'c_1' as Cursor }, { parameter: 'per_page' }],
    ['a time', 'refused', { kind: 'since', time: '2026-10-20T09:30:04.000Z' as Instant }, {}],
    ['the beginning', 'refused', { kind: 'start' }, {}],
  ])('the client reports %s that the platform refuses as %s', async (_, code, position, details) => {
    const error = { type: 'invalid_parameter', message: 'no', details };
    nock(host).get('/investments').query(true).reply(400, { error });
    await expect(read(position)).rejects.toMatchObject({
      code,
      message: expect.not.stringContaining('does not exist'),
      about: { status: 400 },
    });
  });

  const correct = expect.stringMatching(/^correct company or filters/);
  test.each<[Partial<FeedScope>, string, unknown]>([
    [{}, ': one of co_1, ofr_1 does not exist, or the token may not see it', correct],
    [{ filters: {} }, ': co_1 does not exist, or the token may not see it', correct],
    [{ company: null, filters: {} }, '', undefined],
  ])('the client names the filter that the platform does not know: %o', async (change, reason, hint) => {
    const feed = investmentFeed(api, { ...scope, ...change }, 'routine');
    for (const position of [{ kind: 'start' }, { kind: 'cursor', cursor: 'c_1' as Cursor }] as const) {
      nock(host)
        .get('/investments')
        .query(true)
        .reply(404, { error: { type: 'not_found', message: 'no' } });
      const error: unknown = await feed.page(position, signal).catch((fault: unknown) => fault);
      expect(error).toMatchObject({
        code: 'refused',
        message: `GET /investments answered 404 not_found${reason}`,
        about: { status: 404 },
      });
      expect((error as Fault).about.hint).toEqual(hint);
    }
  });

  test('the client reads the next position before it parses the page, for the requested kind', async () => {
    const next: Position[] = [];
    const feed = investmentFeed(api, scope, 'routine');
    const told = async (position: Position) => void next.push(position);
    nock(host).get('/investments').query(true).reply(200, listing('p2', true));
    await feed.page({ kind: 'start' }, signal, told);
    nock(host).get('/investments').query(true).reply(200, listing('c1', false));
    await feed.page({ kind: 'page', token: 'p2' as PageToken }, signal, told);
    const delta = { data: 'broken', meta: { ...deltaPage().meta, has_more: true, next_cursor: 'c2' } };
    nock(host).get('/investments').query(true).reply(200, delta);
    await expect(feed.page({ kind: 'cursor', cursor: 'c1' as Cursor }, signal, told)).rejects.toMatchObject({
      code: 'contract_broken',
    });
    expect(next).toEqual([
      { kind: 'page', token: 'p2' },
      { kind: 'cursor', cursor: 'c2' },
    ]);
  });

  test('INV-10 CLIENT-04 CLIENT-06 every page repeats the filters and passes the cursor back unchanged', async () => {
    const odd = 'c/1+2=&3 ü';
    nock(host).get('/investments').query(base).reply(200, listing(odd, true));
    const first = await read({ kind: 'start' });
    expect(first).toMatchObject({ mode: 'listing', hasMore: true, next: odd });
    nock(host)
      .get('/investments')
      .query({ ...base, cursor: odd })
      .reply(200, listing('s1', false));
    expect(await read({ kind: 'page', token: first.next as PageToken })).toMatchObject({
      hasMore: false,
      next: 's1',
    });
    nock(host)
      .get('/investments')
      .query({ ...base, cursor: 's1' })
      .reply(200, deltaPage());
    expect(await read({ kind: 'cursor', cursor: 's1' as Cursor })).toMatchObject({ mode: 'delta' });
  });

  test('INV-03 a sweep requests changes since a time', async () => {
    nock(host)
      .get('/investments')
      .query({ ...base, updated_since: '2026-10-20T09:30:04.000Z' })
      .reply(200, deltaPage());
    const page = await read({ kind: 'since', time: '2026-10-20T09:30:04.000Z' as Instant });
    expect(page.parse().items).toHaveLength(3);
  });

  test('INV-02 a source without a company and filters sends no parameters for them', async () => {
    nock(host).get('/investments').query({ per_page: '25' }).reply(200, listing('s', false));
    const feed = investmentFeed(api, { company: null, filters: {}, perPage: 25 }, 'webhook');
    expect((await feed.page({ kind: 'start' }, signal)).parse().items).toHaveLength(1);
  });

  test('INV-11 CLIENT-09 the client reports 410 as cursor_expired', async () => {
    nock(host)
      .get('/investments')
      .query(true)
      .reply(410, { error: { type: 'gone', message: 'Too old.' } });
    await expect(read({ kind: 'cursor', cursor: 'c' as Cursor })).rejects.toMatchObject({
      code: 'cursor_expired',
    });
  });

  test('the client refuses a listing page where it requested changes', async () => {
    nock(host).get('/investments').query(true).reply(200, listing('s', false));
    await expect(read({ kind: 'cursor', cursor: 'c' as Cursor })).rejects.toMatchObject({
      code: 'contract_broken',
    });
  });

  test.each<[Position, object]>([
    [{ kind: 'page', token: 'c' as PageToken }, listing('c', true)],
    [{ kind: 'cursor', cursor: 'c' as Cursor }, changes('c', true)],
  ])(
    'the client does not follow an unchanged cursor forever when the page announces more: %o',
    async (position, page) => {
      nock(host).get('/investments').query(true).reply(200, page);
      await expect(read(position)).rejects.toMatchObject({
        code: 'contract_broken',
        message: expect.stringContaining('the same cursor'),
      });
    },
  );

  test('the client reads an unchanged cursor at the end as a feed without changes', async () => {
    nock(host).get('/investments').query(true).reply(200, changes('c', false));
    expect(await read({ kind: 'cursor', cursor: 'c' as Cursor })).toMatchObject({
      next: 'c',
      hasMore: false,
    });
  });

  test.each([
    ['<!doctype html><title>Sign in</title>', 'HTML'],
    ['', 'nothing'],
    ['{"data":[{"id":"inv_1"', 'a body that is not JSON'],
  ])('a 200 with the body %j is contract_broken', async (body, what) => {
    nock(host).get('/investments').query(true).reply(200, body);
    await expect(read({ kind: 'start' })).rejects.toMatchObject({
      code: 'contract_broken',
      message: expect.stringContaining(`answered 200 with ${what}`),
    });
  });
});

describe("the client's requests for verify", () => {
  const zero = { count: 0, committed_cents: 0, raised_cents: 0 };

  test('INV-12 the client reads one record as computed now, with published_matches', async () => {
    const record = wholeRecord();
    nock(host)
      .get(`/investments/${record.id}`)
      .reply(200, {
        data: record,
        meta: { source: 'current', published_observed_at: '2026-10-20T09:30:04Z', published_matches: false },
      });
    expect(await readInvestment(api, String(record.id), signal)).toMatchObject({
      item: { kind: 'record', investment: { committed_cents: 250000 } },
      publishedMatches: false,
      publishedObservedAt: '2026-10-20T09:30:04.000Z',
    });
  });

  test('the client returns null for a record the token may not see and throws any other refusal', async () => {
    nock(host)
      .get('/investments/inv_1')
      .reply(404, { error: { type: 'not_found', message: 'No.' } });
    expect(await readInvestment(api, 'inv_1', signal)).toBeNull();
    nock(host)
      .get('/investments/inv_1')
      .reply(403, { error: { type: 'insufficient_scope', message: 'No.' } });
    await expect(readInvestment(api, 'inv_1', signal)).rejects.toMatchObject({ code: 'forbidden' });
    nock(host)
      .get('/investments/inv_1')
      .reply(400, { error: { type: 'invalid_parameter', message: 'No.' } });
    await expect(readInvestment(api, 'inv_1', signal)).rejects.toMatchObject({ code: 'refused' });
  });

  test('an answer about another record is refused, and the prefix of a session names the same record', async () => {
    for (const data of [wholeRecord(), tombstone(), { id: 'inv_2' }]) {
      nock(host).get('/investments/inv_1').reply(200, { data, meta: {} });
      await expect(readInvestment(api, 'inv_1', signal)).rejects.toMatchObject({
        code: 'contract_broken',
        message: expect.stringContaining('the answer is about another one'),
      });
    }
    const id = String(wholeRecord().id).replace('inv_', 'invt_');
    nock(host).get(`/investments/${id}`).reply(200, { data: wholeRecord(), meta: {} });
    expect(await readInvestment(api, id, signal)).toMatchObject({ item: { kind: 'record' } });
    nock(host)
      .get('/investments/inv_1')
      .reply(200, { data: { id: 7 }, meta: {} });
    expect(await readInvestment(api, 'inv_1', signal)).toMatchObject({
      item: { kind: 'rejected', id: null },
    });
  });

  test('a record that was never published matches nothing published', async () => {
    const record = wholeRecord();
    for (const meta of [
      { published_matches: null, published_observed_at: null },
      { published_matches: 'no' },
      {},
    ]) {
      nock(host).get(`/investments/${record.id}`).reply(200, { data: record, meta });
      expect(await readInvestment(api, String(record.id), signal)).toMatchObject({
        publishedMatches: null,
        publishedObservedAt: null,
      });
    }
  });

  test('the client reads the stats of an offering, by status and in total', async () => {
    const tally = { count: 2, committed_cents: 260000, raised_cents: 259936 };
    nock(host)
      .get('/offerings/ofr_1/stats')
      .reply(200, {
        data: {
          offering: 'ofr_1',
          company: 'co_1',
          currency: 'usd',
          by_status: { active: tally },
          total: tally,
        },
        meta: { source: 'published', published_through: '2026-10-20T09:32:05Z' },
      });
    const stats = await readOfferingStats(api, 'ofr_1', signal);
    expect(stats?.total).toEqual(tally);
    expect(stats?.byStatus.active).toEqual(tally);
    expect(stats?.publishedThrough).toBe('2026-10-20T09:32:05.000Z');
  });

  test('the client returns null for the stats of an offering that the token may not see', async () => {
    nock(host)
      .get('/offerings/ofr_1/stats')
      .reply(404, { error: { type: 'not_found', message: 'No.' } });
    expect(await readOfferingStats(api, 'ofr_1', signal)).toBeNull();
  });

  test('stats without a time have none', async () => {
    nock(host)
      .get('/offerings/ofr_1/stats')
      .reply(200, { data: { by_status: {}, total: zero } });
    expect(await readOfferingStats(api, 'ofr_1', signal)).toMatchObject({ publishedThrough: null });
  });

  test('stats of 200 statuses are read, and no more', async () => {
    const of = (statuses: number) => ({
      by_status: Object.fromEntries(Array.from({ length: statuses }, (_, at) => [`status_${at}`, zero])),
      total: zero,
    });
    for (const statuses of [200, 201])
      nock(host)
        .get('/offerings/ofr_1/stats')
        .reply(200, { data: of(statuses) });
    expect(Object.keys((await readOfferingStats(api, 'ofr_1', signal))?.byStatus ?? {})).toHaveLength(200);
    await expect(readOfferingStats(api, 'ofr_1', signal)).rejects.toMatchObject({ code: 'contract_broken' });
  });

  test('sums in stats beyond 2^53 are read to the last digit', async () => {
    const sums = '"committed_cents":27021597764222973,"raised_cents":-9007199254740993';
    nock(host)
      .get('/offerings/ofr_1/stats')
      .reply(
        200,
        `{"data":{"by_status":{"active":{"count":3,${sums}}},"total":{"count":3,${sums}}},"meta":{}}`,
        { 'content-type': 'application/json' },
      );
    const stats = await readOfferingStats(api, 'ofr_1', signal);
    const exact = { count: 3, committed_cents: 27021597764222973n, raised_cents: -9007199254740993n };
    expect([stats?.byStatus.active, stats?.total]).toEqual([exact, exact]);
  });

  test('stats with a field nested 100,000 deep are read, unless they have a sum beyond 2^53', async () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const stats = (sum: string) =>
      `{"data":{"by_status":{},"total":{"count":1,"committed_cents":${sum},"raised_cents":0}},"meta":{"request":"1234567890123456","new":${deep}}}`;
    for (const sum of ['7', '27021597764222973'])
      nock(host).get('/offerings/ofr_1/stats').reply(200, stats(sum), { 'content-type': 'application/json' });
    const read = await readOfferingStats(api, 'ofr_1', signal);
    expect(read?.total).toEqual({ count: 1, committed_cents: 7, raised_cents: 0 });
    await expect(readOfferingStats(api, 'ofr_1', signal)).rejects.toMatchObject({ code: 'contract_broken' });
  });

  test.each(['9007199254740993.5', '1e300', `1${'0'.repeat(60)}`, '"27021597764222973"'])(
    'a sum of %s in stats is contract_broken',
    async (sum) => {
      const tally = `{"count":1,"committed_cents":${sum},"raised_cents":0}`;
      nock(host)
        .get('/offerings/ofr_1/stats')
        .reply(200, `{"data":{"by_status":{},"total":${tally}},"meta":{}}`, {
          'content-type': 'application/json',
        });
      await expect(readOfferingStats(api, 'ofr_1', signal)).rejects.toMatchObject({
        code: 'contract_broken',
      });
    },
  );

  test.each<[string, object]>([
    ['without their sums', { by_status: {}, total: { count: 1 } }],
    ['with a negative count', { by_status: {}, total: { ...zero, count: -1 } }],
    ['without the sums of a status', { by_status: { active: { count: 1 } }, total: zero }],
    ['without any status', { total: zero }],
    ['of a list of statuses', { by_status: [], total: zero }],
    ['of another offering', { offering: 'ofr_2', by_status: {}, total: zero }],
  ])('stats %s are contract_broken', async (_, data) => {
    nock(host).get('/offerings/ofr_1/stats').reply(200, { data, meta: {} });
    await expect(readOfferingStats(api, 'ofr_1', signal)).rejects.toMatchObject({ code: 'contract_broken' });
  });
});
