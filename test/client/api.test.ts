import { expect, test } from 'vitest';
import { type Ask, createApi } from '../../src/client/api.js';
import type { Call } from '../../src/client/fetch/fetch.js';
import { headerNames } from '../../src/wire/headers.js';
import { FakeClock } from './fake-clock.js';
import { answer, scripted } from './fetch/calls.js';

const { signal } = new AbortController();

function open(response = answer(200, {}, { 'x-service-request-id': 'req_1' }), baseUrl = 'http://api.test') {
  const fetch = scripted(response);
  const api = createApi({ baseUrl, fetch, names: headerNames(), clock: new FakeClock() });
  return { sent: fetch.calls, ask: (ask: Omit<Ask, 'signal'>) => api({ signal, ...ask }) };
}

test.each<[string, Omit<Ask, 'signal'>, Partial<Call>]>([
  [
    'a read',
    { path: '/installations' },
    { method: 'GET', headers: {}, body: null, replayable: true, urgency: 'routine' },
  ],
  [
    'a write without content',
    { method: 'POST', path: '/installations' },
    { method: 'POST', headers: {}, body: null, replayable: false },
  ],
  [
    'a write',
    { method: 'POST', path: '/installations', body: { scopes: [] } },
    { headers: { 'content-type': 'application/json' }, body: '{"scopes":[]}', replayable: false },
  ],
  [
    'a write that may be repeated',
    { method: 'PATCH', path: '/installations', body: {}, replayable: true, urgency: 'webhook' },
    { headers: { 'content-type': 'application/json' }, replayable: true, urgency: 'webhook' },
  ],
  [
    'a form',
    { method: 'POST', path: '/oauth/token', form: { code: 'a b&c' } },
    { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'code=a+b%26c' },
  ],
  ['a conditional read', { path: '/installations', etag: 'v1' }, { headers: { 'if-none-match': '"v1"' } }],
])('api: %s is sent as it has to be', async (_, ask, call) => {
  const { ask: send, sent } = open();
  expect(await send(ask)).toEqual({ status: 200, body: {}, text: '{}' });
  expect(sent).toMatchObject([call]);
  expect(sent[0]?.headers).toEqual(call.headers);
});

test.each([
  ['http://api.test', '/installations', {}, 'http://api.test/installations'],
  ['http://api.test//', '/installations', { a: undefined }, 'http://api.test/installations'],
  [
    'http://api.test/api/v2/',
    '/installations',
    { a: 'b&c', d: undefined },
    'http://api.test/api/v2/installations?a=b%26c',
  ],
  ['http://api.test', '/installations/{external_id}', {}, 'http://api.test/installations/a%2F..%3Fb'],
])('api: below %s, %s with %j is %s', async (baseUrl, path, query, url) => {
  const { ask, sent } = open(undefined, baseUrl);
  await ask({ path, query, params: { external_id: 'a/..?b' } });
  expect(sent[0]?.url.href).toBe(url);
});

test.each([undefined, '', '.', '..'])(
  'api: a request whose path would be another with %j is not sent',
  async (id) => {
    const { ask, sent } = open();
    const params = id === undefined ? {} : { external_id: id };
    await expect(ask({ path: '/installations/{external_id}/tokens', params })).rejects.toThrow(
      'needs the parameter "external_id"',
    );
    expect(sent).toEqual([]);
  },
);

test('api: a response without JSON is refused unless its status is enough', async () => {
  const ask = { path: '/oauth/revoke', form: { token: 'at_1' } };
  await expect(open(answer(200, '')).ask(ask)).rejects.toMatchObject({ code: 'contract_broken' });
  const revoked = await open(answer(200, '')).ask({ ...ask, isStatusEnough: true });
  expect(revoked).toEqual({ status: 200, body: null, text: '' });
});

test('api: 304 answers a conditional request, and no other', async () => {
  const unchanged = answer(304, '', { 'x-service-request-id': 'req_2' });
  expect(await open(unchanged).ask({ path: '/companies', etag: 'v1' })).toEqual({
    status: 304,
    body: null,
    text: '',
  });
  await expect(open(unchanged).ask({ path: '/companies' })).rejects.toMatchObject({
    code: 'contract_broken',
  });
  await expect(open(answer(404, '')).ask({ path: '/companies', etag: 'v1' })).rejects.toMatchObject({
    code: 'contract_broken',
  });
});
