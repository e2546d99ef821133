import { expect, onTestFinished, test } from 'vitest';
import { type BudgetState, settleMillis } from '../../src/client/budget.js';
import { type ClientOptions, createClient } from '../../src/client/create-client.js';
import { openConnectionPool } from '../../src/client/fetch/connection-pool.js';
import { investmentFeed } from '../../src/client/investments.js';
import type { BudgetStore } from '../../src/client/ports.js';
import { staticToken } from '../../src/client/tokens/static-token.js';
import type { TokenProvider } from '../../src/client/tokens/token-provider.js';
import { Fault } from '../../src/domain/fault.js';
import type { Cursor } from '../../src/domain/position.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';
import { seededRandom } from '../../src/runtime/random.js';
import { headerNames } from '../../src/wire/headers.js';
import { FakeClock } from './fake-clock.js';
import { listen } from './fetch/wire-server.js';
import { deltaPage } from './fixtures.js';

const signal = new AbortController().signal;
const scope = { company: null, filters: {}, perPage: 100 };
const page = JSON.stringify({ ...deltaPage(), meta: { ...deltaPage().meta, mode: 'bootstrap' } });

class MemoryBudgets implements BudgetStore {
  readonly saved = new Map<string, BudgetState>();
  saves = 0;
  async load(key: string) {
    return this.saved.get(key) ?? null;
  }
  async save(key: string, state: BudgetState) {
    this.saves += 1;
    this.saved.set(key, state);
  }
}

function open(baseUrl: string, more: Partial<ClientOptions> = {}) {
  const pool = openConnectionPool();
  onTestFinished(() => pool.close());
  const clock = new RealWaits();
  return {
    clock,
    client: createClient({
      baseUrl,
      version: '2026-10-15',
      names: headerNames(),
      wire: pool.fetch,
      clock,
      random: seededRandom(1),
      logger: silentLogger,
      budgets: new MemoryBudgets(),
      ...more,
    }),
  };
}

/** A clock that does not move by itself; waiting does not reach a timeout. */
class RealWaits extends FakeClock {
  override wait(millis: number, abort?: AbortSignal): Promise<void> {
    if (millis < 30_000) return super.wait(millis, abort);
    return new Promise((resolve) => abort?.addEventListener('abort', () => resolve(), { once: true }));
  }
}

const dateOf = (clock: FakeClock) => new Date(clock.now()).toUTCString();

test('CLIENT-01 CLIENT-10 CLIENT-15 client: all layers work together on a failure, a 401 and a page', async () => {
  const script = [503, 401, 200];
  const server = await listen((_, response) => {
    response.writeHead(script[server.requests.length - 1] ?? 200);
    response.end(page);
  });
  const tokens = ['at_1', 'at_2'];
  const { client } = open(server.url);
  const feed = investmentFeed(client.as(staticToken(() => tokens.shift() ?? '')), scope, 'routine');
  expect((await feed.page({ kind: 'start' }, signal)).parse().items).toHaveLength(3);
  expect(server.requests.map(({ headers }) => [headers.authorization, headers['service-version']])).toEqual([
    ['Bearer at_1', '2026-10-15'],
    ['Bearer at_1', '2026-10-15'],
    ['Bearer at_2', '2026-10-15'],
  ]);
});

test('client: a byte order mark before a response is no part of it', async () => {
  const server = await listen((_, response) => {
    response.writeHead(200);
    response.end(`\uFEFF${page}`);
  });
  const { client } = open(server.url);
  const feed = investmentFeed(client.as(staticToken(() => 'at_1')), scope, 'routine');
  expect((await feed.page({ kind: 'start' }, signal)).parse().items).toHaveLength(3);
});

test('client: sources with the same token share its budget, another token has its own', async () => {
  const server = await listen((_, response) => {
    response.setHeader('date', dateOf(clock));
    response.end(page);
  });
  const { client, clock } = open(server.url, { requestsPerHour: 30 });
  const feed = (token: string, urgency: 'routine' | 'webhook' = 'routine') =>
    investmentFeed(client.as(staticToken(() => token)), scope, urgency);
  for (let call = 0; call < 5; call += 1) {
    await feed('at_1').page({ kind: 'start' }, signal);
    await feed('at_1').page({ kind: 'start' }, signal);
  }
  const spent = feed('at_1').page({ kind: 'start' }, signal);
  await expect(spent).rejects.toMatchObject({
    code: 'rate_limited',
    about: { retryAt: new Date(clock.now() + 3_600_000 + settleMillis).toISOString() },
  });
  await feed('at_2').page({ kind: 'start' }, signal);
  await feed('at_1', 'webhook').page({ kind: 'start' }, signal);
  expect(server.requests).toHaveLength(12);
});

test('RATE-02 client: all tokens share the limit of the address, and its 429 stops them all', async () => {
  let isLimited = false;
  const server = await listen((_, response) => {
    response.setHeader('date', dateOf(clock));
    if (!isLimited) return void response.end(page);
    response.writeHead(429);
    const details = { limit: 5000, period: 'hour', retry_after: 1800 };
    response.end(JSON.stringify({ error: { type: 'rate_limit_exceeded', details } }));
  });
  const { client, clock } = open(server.url);
  const one = staticToken(() => 'at_1');
  const read = (tokens: TokenProvider) =>
    investmentFeed(client.as(tokens), scope, 'webhook').page({ kind: 'start' }, signal);
  await read(one);
  await read(staticToken(() => 'at_2'));
  const left = (kind: string) =>
    client.limitsOf(one).flatMap((limit) => (limit.kind === kind ? [limit.left] : []));
  expect([left('token'), left('address')]).toEqual([
    [999, 999],
    [4998, 4998],
  ]);
  isLimited = true;
  await expect(read(one)).rejects.toMatchObject({ code: 'rate_limited' });
  expect([left('token'), left('address')]).toEqual([
    [0, 998],
    [0, 0],
  ]);
  const sent = server.requests.length;
  await expect(read(staticToken(() => 'at_3'))).rejects.toMatchObject({ code: 'rate_limited' });
  expect(server.requests).toHaveLength(sent);
});

test('client: a 429 of a token does not stop the other tokens', async () => {
  const server = await listen((request, response) => {
    response.setHeader('date', dateOf(clock));
    if (request.headers.authorization !== 'Bearer at_1') return void response.end(page);
    response.writeHead(429);
    const details = { limit: 1000, period: 'hour', retry_after: 1800 };
    response.end(JSON.stringify({ error: { type: 'rate_limit_exceeded', details } }));
  });
  const { client, clock } = open(server.url);
  const read = (token: string) =>
    investmentFeed(client.as(staticToken(() => token)), scope, 'webhook').page({ kind: 'start' }, signal);
  await expect(read('at_1')).rejects.toMatchObject({ code: 'rate_limited' });
  expect((await read('at_2')).parse().items).toHaveLength(3);
});

test('client: with a higher limit per token than per address, a 429 of a token does not stop the others, and requests of all are not added up', async () => {
  const server = await listen((request, response) => {
    response.setHeader('date', dateOf(clock));
    if (request.headers.authorization !== 'Bearer at_1') return void response.end(page);
    response.writeHead(429);
    const details = { limit: 10_000, period: 'hour', retry_after: 1800 };
    response.end(JSON.stringify({ error: { type: 'rate_limit_exceeded', details } }));
  });
  const { client, clock } = open(server.url, { requestsPerHour: 10_000 });
  const read = (tokens: TokenProvider) =>
    investmentFeed(client.as(tokens), scope, 'webhook').page({ kind: 'start' }, signal);
  await expect(read(staticToken(() => 'at_1'))).rejects.toMatchObject({ code: 'rate_limited' });
  const other = staticToken(() => 'at_2');
  expect((await read(other)).parse().items).toHaveLength(3);
  expect(client.limitsOf(other).map(({ kind, left }) => [kind, left])).toEqual([
    ['token', 9_999],
    ['token', 9_999],
  ]);
});

test('client: with equal limits per token and address, a 429 counts against the address and only blocks the token', async () => {
  let isLimited = true;
  const server = await listen((_, response) => {
    response.setHeader('date', dateOf(clock));
    if (!isLimited) return void response.end(page);
    response.writeHead(429);
    const details = { limit: 5000, period: 'hour', retry_after: 1800 };
    response.end(JSON.stringify({ error: { type: 'rate_limit_exceeded', details } }));
  });
  const budgets = new MemoryBudgets();
  const { client, clock } = open(server.url, { requestsPerHour: 5000, budgets });
  const tokens = staticToken(() => 'at_1');
  const read = () => investmentFeed(client.as(tokens), scope, 'webhook').page({ kind: 'start' }, signal);
  await expect(read()).rejects.toMatchObject({ code: 'rate_limited' });
  isLimited = false;
  const [stored] = budgets.saved.values();
  expect(stored).toMatchObject({ spent: 10, blockedUntil: expect.any(Number) });
  expect(client.limitsOf(tokens).filter(({ left, kind }) => kind === 'address' && left > 0)).toEqual([]);
});

test('client: a restart keeps the request count, and no token is stored as a key', async () => {
  const server = await listen((_, response) => {
    response.setHeader('date', dateOf(first.clock));
    response.end(page);
  });
  const budgets = new MemoryBudgets();
  const first = open(server.url, { requestsPerHour: 40, budgets });
  const read = (client: typeof first.client) =>
    investmentFeed(client.as(staticToken(() => 'at_secret')), scope, 'routine').page(
      { kind: 'start' },
      signal,
    );
  for (let call = 0; call < 13; call += 1) await read(first.client);
  expect(budgets.saves).toBe(2);
  expect([...budgets.saved.keys()].join()).not.toContain('at_secret');
  const second = open(server.url, { requestsPerHour: 40, budgets });
  let granted = 0;
  await expect(
    (async () => {
      for (;;) {
        await read(second.client);
        granted += 1;
      }
    })(),
  ).rejects.toMatchObject({ code: 'rate_limited' });
  expect(granted).toBeLessThanOrEqual(20 - 13);
});

test('client: a failing budget store loses the count and does not stop the sync', async () => {
  const server = await listen((_, response) => response.end(page));
  const broken: BudgetStore = {
    load: async () => Promise.reject(new Error('busy')),
    save: async () => Promise.reject(new Error('busy')),
  };
  const { client } = open(server.url, { budgets: broken });
  const feed = investmentFeed(client.as(staticToken(() => 'at_1')), scope, 'routine');
  expect((await feed.page({ kind: 'start' }, signal)).parse().items).toHaveLength(3);
});

test("CLIENT-14 client: after a long 429 nothing is sent with the token until the platform's own clock allows it", async () => {
  let isLimited = true;
  let platformAhead = 0;
  const server = await listen((request, response) => {
    response.setHeader('date', new Date(clock.now() + platformAhead).toUTCString());
    if (request.url?.startsWith('/investments') !== true || !isLimited) return void response.end(page);
    response.writeHead(429);
    const details = { limit: 1000, period: 'hour', retry_after: 1800 };
    response.end(JSON.stringify({ error: { type: 'rate_limit_exceeded', details } }));
  });
  const { client, clock } = open(server.url);
  const read = () =>
    investmentFeed(client.as(staticToken(() => 'at_1')), scope, 'webhook').page({ kind: 'start' }, signal);
  const withToken = () => server.requests.filter(({ headers }) => headers.authorization !== undefined).length;
  await expect(read()).rejects.toMatchObject({ code: 'rate_limited' });
  isLimited = false;
  clock.advance(1_790_000);
  await expect(read()).rejects.toMatchObject({ code: 'rate_limited' });
  expect(withToken()).toBe(1);
  clock.advance(30_000);
  await read();
  expect(withToken()).toBe(2);
  isLimited = true;
  await expect(read()).rejects.toMatchObject({ code: 'rate_limited' });
  isLimited = false;
  // Our clock stopped while the platform's moved on. The client asks for the platform's time, without the token,
  // before it waits half an hour on its own clock.
  platformAhead = 1_900_000;
  clock.advance(16_000);
  await read();
  expect(client.time.aheadMillis).toBeGreaterThan(1_890_000);
  expect(withToken()).toBe(4);
});

test('RATE-14 client: a clock that is a year wrong neither blocks a token for a year nor retries too early', async () => {
  const server = await listen((_, response) => {
    response.setHeader('date', 'Fri, 20 Nov 2026 12:00:00 GMT');
    response.writeHead(429, { 'x-ratelimit-reset': String(Date.parse('2026-11-20T12:20:00Z') / 1000) });
    response.end('edge');
  });
  const { client, clock } = open(server.url);
  clock.jump(-365 * 86_400_000);
  const read = investmentFeed(client.as(staticToken(() => 'at_1')), scope, 'webhook').page(
    { kind: 'start' },
    signal,
  );
  await expect(read).rejects.toMatchObject({
    about: { retryAt: new Date(clock.now() + 1_200_000).toISOString() },
  });
});

test('client: no token, cursor or identity appears in a fault or a log line', async () => {
  const answers: [number, string][] = [
    [503, 'Mara Lindqvist'],
    [500, '{"error":{"type":"internal_server_error","message":"Mara Lindqvist"}}'],
    [401, '{"error":{"type":"unauthorized","message":"at_secret"}}'],
    [200, '<html>Mara Lindqvist</html>'],
    [200, '{"data":"Mara Lindqvist"}'],
    [302, ''],
    [410, '{"error":{"type":"gone","message":"c_secret"}}'],
  ];
  const lines: unknown[] = [];
  const write = (...line: unknown[]) => lines.push(line);
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  for (const [status, body] of answers) {
    const server = await listen((_, response) => {
      response.writeHead(status, { location: 'http://elsewhere.test/?token=at_secret' });
      response.end(body);
    });
    const { client } = open(server.url, { logger });
    const feed = investmentFeed(client.as(staticToken(() => 'at_secret')), scope, 'routine');
    const error = await feed
      .page({ kind: 'cursor', cursor: 'c_secret' as Cursor }, signal)
      .catch((fault) => fault);
    expect(error).toBeInstanceOf(Fault);
    lines.push(error.message, error.about.hint, error.about.type, error.about.requestId);
  }
  expect(lines.length).toBeGreaterThan(answers.length);
  expect(JSON.stringify(lines)).not.toMatch(/at_secret|c_secret|Mara/);
});
