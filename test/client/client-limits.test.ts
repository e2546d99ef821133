import { expect, test } from 'vitest';
import { type ClientOptions, createClient } from '../../src/client/create-client.js';
import type { Call, WireFetch } from '../../src/client/fetch/fetch.js';
import { staticToken } from '../../src/client/tokens/static-token.js';
import type { TokenProvider } from '../../src/client/tokens/token-provider.js';
import { Fault } from '../../src/domain/fault.js';
import type { Clock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { seededRandom } from '../../src/runtime/random.js';
import { headerNames } from '../../src/wire/headers.js';
import { FakeClock } from './fake-clock.js';
import { answer } from './fetch/calls.js';

const { signal } = new AbortController();
const minute = 60_000;

/** A platform that answers at once, with the time of the clock. */
function open(more: Partial<ClientOptions> = {}, status: (url: URL) => number = () => 200) {
  const clock = new Unhurried();
  const sent: string[] = [];
  const wire: WireFetch = async (url) => {
    sent.push(url.pathname);
    const { headers } = answer(0, '', { date: new Date(clock.now()).toUTCString() });
    const body = (async function* () {
      yield Buffer.from('{}');
    })();
    return { status: status(url), headers, body };
  };
  const client = createClient({
    baseUrl: 'http://api.test',
    version: '2026-10-15',
    names: headerNames(),
    wire,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    budgets: { load: async () => null, save: async () => {} },
    ...more,
  });
  const read = (tokens: TokenProvider) => client.as(tokens)({ path: '/investments', signal });
  return { client, clock, sent, read };
}

/** Lets no request time out. */
class Unhurried extends FakeClock {
  override wait(millis: number, abort?: AbortSignal): Promise<void> {
    return millis < 30_000 ? super.wait(millis, abort) : new Promise(() => {});
  }
}

test('client: a request without a response is given up after 30 seconds', async () => {
  const clock: Clock = { now: () => 0, monotonic: () => 0, wait: async () => {} };
  const wire: WireFetch = (_, { signal: given }) =>
    new Promise((_, reject) => given.addEventListener('abort', () => reject(given.reason)));
  const { read } = open({ wire, clock });
  await expect(read(staticToken(() => 'at_1'))).rejects.toMatchObject({
    code: 'unreachable',
    message: 'GET /investments had no complete answer after 30000 ms',
  });
});

test('client: a platform that does not tell the time is no error, but a stop ends the question', async () => {
  const failing = open({ wire: async () => Promise.reject(new Error('away')) });
  await failing.client.askTime(signal);
  expect(failing.client.time.isUnsure).toBe(true);
  const stopping = AbortSignal.abort();
  await expect(open().client.askTime(stopping)).rejects.toMatchObject({ code: 'stopped' });
});

test('client: on a platform without limits nothing is counted, stored or waited for', async () => {
  const stored: string[] = [];
  const budgets = {
    load: async (key: string) => {
      stored.push(key);
      return null;
    },
    save: async (key: string) => void stored.push(key),
  };
  const { client, read, sent } = open({ requestsPerHour: null, budgets });
  const tokens = staticToken(() => 'at_1');
  for (let request = 0; request < 1_100; request += 1) await read(tokens);
  await client.refreshLimits(
    staticToken(() => expect.unreachable('the token is not needed')),
    signal,
  );
  expect([client.limitsOf(tokens), client.addressLeft(), await client.quotaOf(tokens)]).toEqual([
    [],
    null,
    null,
  ]);
  expect([sent.length, stored]).toEqual([1_100, []]);
});

test('client: a limit is known after the first request, of the token that was sent last', async () => {
  const { client, clock, read } = open();
  const given = ['at_1', 'at_2'];
  const tokens = staticToken(() => given.shift() ?? '');
  expect([client.limitsOf(tokens), client.addressLeft(), await client.quotaOf(tokens)]).toEqual([
    [],
    null,
    null,
  ]);
  await read(tokens);
  await read(tokens);
  expect(await client.quotaOf(tokens)).toMatchObject({ limit: 1000, left: 998 });
  tokens.reload?.();
  await read(tokens);
  expect(await client.quotaOf(tokens)).toMatchObject({ limit: 1000, left: 999 });
  expect(client.addressLeft()).toMatchObject({ limit: 5000, left: 4997, kind: 'address' });
  expect(client.limitsOf(tokens).map(({ kind, left }) => [kind, left])).toEqual([
    ['token', 999],
    ['token', 999],
    ['address', 4997],
    ['address', 4997],
  ]);
  expect(clock.waits).toEqual([]);
});

test('client: of the two windows of the address, the one that has less left counts', async () => {
  const { client, clock, read } = open();
  const tokens = staticToken(() => 'at_1');
  clock.advance(10 * minute);
  await read(tokens);
  clock.advance(51 * minute);
  await read(tokens);
  // A window of an hour that began with the first request has both, the hour of the clock only the second.
  expect(client.addressLeft()?.left).toBe(4998);
  clock.advance(10 * minute);
  await read(tokens);
  // The first window has begun again, and the hour of the clock has the second and the third.
  expect(client.addressLeft()?.left).toBe(4998);
});

test('client: limits of a token that another source has used are found before its first request', async () => {
  const { client, read } = open();
  await read(staticToken(() => 'at_1'));
  const other = staticToken(() => 'at_1');
  expect(client.limitsOf(other)[0]?.kind).toBe('address');
  await client.refreshLimits(other, signal);
  expect(client.limitsOf(other)[0]).toMatchObject({ kind: 'token', left: 999 });
});

test('client: limits stay those of the token sent last, also if an earlier one is read meanwhile', async () => {
  const { client, read } = open();
  let give = (_: string) => {};
  const slow = new Promise<string>((resolve) => {
    give = resolve;
  });
  const reads = [slow, Promise.resolve('at_new')];
  const tokens: TokenProvider = {
    current: () => reads.shift() ?? expect.unreachable('one read each'),
    renew: () => expect.unreachable('nothing is refused'),
  };
  const refreshed = client.refreshLimits(tokens, signal);
  await read(tokens);
  give('at_old');
  await refreshed;
  expect(client.limitsOf(tokens)[0]).toMatchObject({ kind: 'token', left: 999 });
});

test('client: reads beside the feed are repeated once, and their failures are no outage of the feed', async () => {
  const { client, sent } = open({}, ({ pathname }) => (pathname === '/companies/co_1' ? 503 : 500));
  const tokens = staticToken(() => 'at_1');
  const requestsOf = async (call: Promise<unknown>, path: Call['url']['pathname']) => {
    await expect(call).rejects.toBeInstanceOf(Fault);
    return sent.filter((one) => one === path).length;
  };
  const beside = client.besides(tokens)({ path: '/companies/co_1', signal });
  expect(await requestsOf(beside, '/companies/co_1')).toBe(2);
  const feed = client.as(tokens)({ path: '/investments', signal });
  expect(await requestsOf(feed, '/investments')).toBe(4);
});
