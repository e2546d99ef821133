import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeClient } from '../../conformance/credentials.js';
import { company, type RunningPlatform, startPlatform } from '../../conformance/running-platform.js';
import { askBeforeSending } from '../../support/ask-before-sending.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startPlatform({ platform: { trustedProxies: ['127.0.0.1', '10.0.0.9'] } });
});
afterEach(() => world.close());

const token = () => company(world).token;

/** Sends raw bytes and returns the whole response. */
function raw(bytes: string): Promise<string> {
  const { hostname, port } = new URL(world.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}

test('OAUTH-31 CORS: any origin may read, only origins of registered redirect URIs may write', async () => {
  const preflight = async (origin: string, method: string) =>
    (
      await world.send('OPTIONS', '/oauth/token', {
        headers: { origin, 'access-control-request-method': method },
      })
    ).headers.get('access-control-allow-origin');
  const read = await world.get('/investments', {
    token: token(),
    headers: { origin: 'https://anyone.example' },
  });
  expect(read.headers.get('access-control-allow-origin')).toBe('*');
  const registered = new URL(world.ready.apps[0]?.redirectUri ?? '').origin;
  expect(await preflight(registered, 'POST')).toBe(registered);
  expect(await preflight('https://anyone.example', 'POST')).toBeNull();
});

test('CORS: a preflight returns 204 without a body and without Content-Length', async () => {
  const answer = await world.send('OPTIONS', '/investments', { headers: { origin: 'https://a.example' } });
  expect([answer.status, answer.body, answer.headers.get('content-length')]).toEqual([204, '', null]);
});

test('the server rejects a body over 1 MB with the error envelope and accepts one of 1 MB', async () => {
  const large = await world.post('/oauth/token', { body: 'x'.repeat(1024 * 1024 + 1) });
  expect([large.status, large.body.error.type]).toEqual([400, 'bad_request']);
  const whole = await world.control('POST', '/investments', {
    company: company(world).id,
    set: { bio: 'x'.repeat(900_000) },
  });
  expect(whole.status).toBe(200);
});

test.each([
  [
    'an operation that stores any value',
    () => `/offerings/${company(world).offerings[1]}/investment_sessions`,
  ],
  ['an operation whose body is read before it is checked', () => '/intents'],
  ['the control API', () => '/_sandbox/investments'],
])('a body that nests too deeply returns 400 from %s', async (_, path) => {
  for (const levels of [98, 99, 50_000]) {
    const value = `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const body = `{"metadata":{"a":${value}},"a":${value},"x":${value}}`;
    const answer = await world.post(path(), { token: token(), body, headers: { 'idempotency-key': 'once' } });
    const tooDeep = 'The body is nested deeper than 100 levels.';
    if (levels === 98) expect(answer.body.error?.message).not.toBe(tooDeep);
    else
      expect([answer.status, answer.body.error]).toMatchObject([
        400,
        { type: 'bad_request', message: tooDeep },
      ]);
  }
});

test('Expect: 100-continue is rejected at once for a body over 1 MB and continued otherwise', async () => {
  const ask = (body: string) =>
    askBeforeSending(
      `${world.url}/oauth/token`,
      { 'content-type': 'application/x-www-form-urlencoded' },
      body,
    );
  expect(await ask('x'.repeat(1024 * 1024 + 1))).toEqual({ continued: false, status: 400 });
  expect(await ask('grant_type=none')).toEqual({ continued: true, status: 400 });
});

test('HEAD returns the headers of GET without the body', async () => {
  const head = await world.send('HEAD', '/investments', { token: token() });
  expect([head.status, head.body]).toEqual([200, '']);
  expect(Number(head.headers.get('content-length'))).toBeGreaterThan(100);
});

test('the platform keeps an idle connection for longer than a minute, as clients expect that are busy meanwhile', async () => {
  const { headers } = await world.get('/investments', { token: token() });
  expect(headers.get('keep-alive')).toBe('timeout=65');
});

test('a path with a malformed escape, an encoded slash or a control character returns 404', async () => {
  for (const path of ['/investments/%', '/investments%2Finv_x', '/investments/%00', '/investments/']) {
    expect([path, (await world.get(path, { token: token() })).status]).toEqual([path, 404]);
  }
  expect(await raw('GET http://[ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toContain('404');
});

test('IP limits use the first address from the right of X-Forwarded-For that is no trusted proxy', async () => {
  const keys = () =>
    world.services.state
      .prepare(`SELECT key FROM windows WHERE limit_name = 'ip' ORDER BY key`)
      .pluck()
      .all();
  const ask = (forwarded: string) =>
    world.get('/investments', { token: token(), headers: { 'x-forwarded-for': forwarded } });
  await ask('6.6.6.6, 203.0.113.7, 10.0.0.9');
  await ask('203.0.113.7');
  await ask('10.0.0.9');
  expect(keys()).toEqual(['127.0.0.1', '203.0.113.7']);
});

test('X-Forwarded-For is ignored unless a trusted proxy is configured', async () => {
  await world.close();
  world = await startPlatform();
  await world.get('/investments', { token: token(), headers: { 'x-forwarded-for': '203.0.113.7' } });
  expect(
    world.services.state.prepare(`SELECT key FROM windows WHERE limit_name = 'ip'`).pluck().all(),
  ).toEqual(['127.0.0.1']);
});

test('rate limits that are turned off count no requests', async () => {
  await world.close();
  world = await startPlatform({ limits: false });
  await world.get('/investments', { token: token() });
  expect(world.services.state.prepare('SELECT count(*) FROM windows').pluck().get()).toBe(0);
});

test('response headers use the configured header names', async () => {
  await world.close();
  world = await startPlatform({ headerPrefix: 'Acme', requestIdHeader: 'X-Acme-Id' });
  const { headers } = await world.get('/investments', {
    token: token(),
    headers: { 'Acme-Version': '2026-10-01' },
  });
  expect(headers.get('acme-version')).toBe('2026-10-01');
  expect(headers.get('acme-version-latest')).toBe('2026-10-15');
  expect(headers.get('x-acme-id')).toMatch(/^req_/);
});

test('a repeated query key for a single-value parameter returns a 400 that names it', async () => {
  const { status, body } = await world.get('/investments?cursor=a&cursor=b', { token: token() });
  expect([status, body.error.details]).toEqual([400, { parameter: 'cursor' }]);
});

test('query keys with and without brackets are the same repeated parameter', async () => {
  const { status, body } = await world.get('/investments?status=active&status[]=reserved', {
    token: token(),
  });
  expect([status, body.error.details]).toEqual([400, { parameter: 'status' }]);
});

test.each(['constructor', '__proto__', 'toString'])(
  'VERS-05 the version header %s is rejected like any unknown version',
  async (name) => {
    const { status, body, headers } = await world.get('/investments', {
      token: token(),
      headers: { 'service-version': name },
    });
    expect([status, body.error.type, headers.get('service-version')]).toEqual([
      400,
      'invalid_request',
      '2026-10-15',
    ]);
  },
);

test('CORS: the origin null may not write even if an application registered a custom-scheme redirect URI', async () => {
  makeClient(world, { redirectUris: ['com.partner.app:/callback'] });
  const headers = { origin: 'null', 'access-control-request-method': 'POST' };
  const answer = await world.send('OPTIONS', '/oauth/token', { headers });
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
});

test('a path that starts with two slashes returns 404 and is not read as another host', async () => {
  const text = await raw(
    `GET //elsewhere.example/investments HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token()}\r\nConnection: close\r\n\r\n`,
  );
  expect(text).toMatch(/^HTTP\/1\.1 404 /);
});

test('ERR-02 VERS-06 bytes that are not HTTP get the error envelope and the version headers', async () => {
  for (const bytes of [
    'NONSENSE\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n',
    `GET /${'x'.repeat(40_000)} HTTP/1.1\r\n\r\n`,
  ]) {
    const [head = '', body = ''] = (await raw(bytes)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 /);
    const { error } = JSON.parse(body);
    expect([error.type, error.request_id]).toEqual([
      'bad_request',
      /x-service-request-id: (req_\w+)/i.exec(head)?.[1],
    ]);
    expect(head).toMatch(/service-version: 2026-10-15/i);
  }
});
