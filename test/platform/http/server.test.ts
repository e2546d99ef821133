import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeClient } from '../../conformance/credentials.js';
import { company, startWorld, type TestWorld } from '../../conformance/running-platform.js';
import { askBeforeSending } from '../../support/ask-before-sending.js';

let world: TestWorld;
beforeEach(async () => {
  world = await startWorld({ platform: { trustedProxies: ['127.0.0.1', '10.0.0.9'] } });
});
afterEach(() => world.close());

const token = () => company(world).token;

/** Sends bytes as they are and returns all that comes back. */
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

test('OAUTH-31 any page may read, only pages of registered redirect addresses may write', async () => {
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

test('a preflight answers 204 without a body and without saying how long it is', async () => {
  const answer = await world.send('OPTIONS', '/investments', { headers: { origin: 'https://a.example' } });
  expect([answer.status, answer.body, answer.headers.get('content-length')]).toEqual([204, '', null]);
});

test('a body over 1 MB is refused in the envelope, one of 1 MB is read', async () => {
  const large = await world.post('/oauth/token', { body: 'x'.repeat(1024 * 1024 + 1) });
  expect([large.status, large.body.error.type]).toEqual([400, 'bad_request']);
  const whole = await world.control('POST', '/investments', {
    company: company(world).id,
    set: { bio: 'x'.repeat(900_000) },
  });
  expect(whole.status).toBe(200);
});

test('who asks before sending 1 MB or more is refused at once, everybody else is told to go on', async () => {
  const ask = (body: string) =>
    askBeforeSending(
      `${world.url}/oauth/token`,
      { 'content-type': 'application/x-www-form-urlencoded' },
      body,
    );
  expect(await ask('x'.repeat(1024 * 1024 + 1))).toEqual({ continued: false, status: 400 });
  expect(await ask('grant_type=none')).toEqual({ continued: true, status: 400 });
});

test('HEAD answers as GET does, without the body', async () => {
  const head = await world.send('HEAD', '/investments', { token: token() });
  expect([head.status, head.body]).toEqual([200, '']);
  expect(Number(head.headers.get('content-length'))).toBeGreaterThan(100);
});

test('a path that is broken, hides a slash or a control character names nothing', async () => {
  for (const path of ['/investments/%', '/investments%2Finv_x', '/investments/%00', '/investments/']) {
    expect([path, (await world.get(path, { token: token() })).status]).toEqual([path, 404]);
  }
  expect(await raw('GET http://[ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toContain('404');
});

test('the address limits count by is the first from the right that is no trusted proxy', async () => {
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

test('a forwarded address is believed from nobody unless a proxy is named', async () => {
  await world.close();
  world = await startWorld();
  await world.get('/investments', { token: token(), headers: { 'x-forwarded-for': '203.0.113.7' } });
  expect(
    world.services.state.prepare(`SELECT key FROM windows WHERE limit_name = 'ip'`).pluck().all(),
  ).toEqual(['127.0.0.1']);
});

test('a limit that is switched off counts nothing', async () => {
  await world.close();
  world = await startWorld({ limits: false });
  await world.get('/investments', { token: token() });
  expect(world.services.state.prepare('SELECT count(*) FROM windows').pluck().get()).toBe(0);
});

test('headers carry the deployment’s names', async () => {
  await world.close();
  world = await startWorld({ headerPrefix: 'Acme', requestIdHeader: 'X-Acme-Id' });
  const { headers } = await world.get('/investments', {
    token: token(),
    headers: { 'Acme-Version': '2026-10-01' },
  });
  expect(headers.get('acme-version')).toBe('2026-10-01');
  expect(headers.get('acme-version-latest')).toBe('2026-10-15');
  expect(headers.get('x-acme-id')).toMatch(/^req_/);
});

test('a repeated query key where one value is meant is a 400 that names it', async () => {
  const { status, body } = await world.get('/investments?cursor=a&cursor=b', { token: token() });
  expect([status, body.error.details]).toEqual([400, { parameter: 'cursor' }]);
});

test('keys that only differ in brackets are one parameter, repeated', async () => {
  const { status, body } = await world.get('/investments?status=active&status[]=reserved', {
    token: token(),
  });
  expect([status, body.error.details]).toEqual([400, { parameter: 'status' }]);
});

test.each(['constructor', '__proto__', 'toString'])(
  'VERS-05 the version %s is as unknown as any other',
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

test('a page without an origin of its own may not write, though an application has an address with its own scheme', async () => {
  makeClient(world, { redirectUris: ['com.partner.app:/callback'] });
  const headers = { origin: 'null', 'access-control-request-method': 'POST' };
  const answer = await world.send('OPTIONS', '/oauth/token', { headers });
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
});

test('a path that begins with two slashes names nothing, another host least of all', async () => {
  const text = await raw(
    `GET //elsewhere.example/investments HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token()}\r\nConnection: close\r\n\r\n`,
  );
  expect(text).toMatch(/^HTTP\/1\.1 404 /);
});

test('ERR-02 VERS-06 bytes that are no request are answered in the one form too', async () => {
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
