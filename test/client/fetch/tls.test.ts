import { once } from 'node:events';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { openConnectionPool } from '../../../src/client/fetch/connection-pool.js';
import { withCaps } from '../../../src/client/fetch/with-caps.js';
import { defaultRetryPlan, Outage, withRetry } from '../../../src/client/fetch/with-retry.js';
import { isFault } from '../../../src/domain/fault.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { seededRandom } from '../../../src/runtime/random.js';
import { failureOf } from '../../../src/sync/failure-of.js';
import { StandingClock } from '../../store/support/mirror.js';
import { callTo } from './calls.js';
import { pem } from './pem.js';

async function serve(name: string) {
  let requests = 0;
  let connections = 0;
  const server = createServer({ cert: pem(`${name}.cert`), key: pem(`${name}.key`) }, (_, response) => {
    requests += 1;
    response.end('{}');
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests: () => requests,
    connections: () => connections,
  };
}

function open(extraCa: string | null) {
  const pool = openConnectionPool({ extraCa });
  onTestFinished(() => pool.close());
  return withCaps(pool.fetch);
}

test('tls: an untrusted certificate is rejected, and nothing is sent', async () => {
  const server = await serve('loopback');
  const sending = open(null)(callTo(server.url, { headers: { authorization: 'Bearer at_1' } }));
  await expect(sending).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT'),
    about: { hint: expect.stringContaining('certificate') },
  });
  expect(server.requests()).toBe(0);
});

test('tls: an authority in the configuration is trusted', async () => {
  const server = await serve('loopback');
  expect((await open(pem('loopback.cert'))(callTo(server.url))).status).toBe(200);
});

test('tls: an authority that Node trusts by its environment is trusted beside the one in the configuration', async () => {
  const server = await serve('loopback');
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, pem('loopback.cert')]);
  onTestFinished(() => setDefaultCACertificates(usual));
  expect((await open(pem('authority.cert'))(callTo(server.url))).status).toBe(200);
});

test('tls: a trusted certificate of another host is rejected', async () => {
  const server = await serve('other-host');
  await expect(open(pem('other-host.cert'))(callTo(server.url))).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
  });
  expect(server.requests()).toBe(0);
});

const trusting = pem('authority.cert');

test.each([
  ['a self-signed certificate', 'loopback', null, 'self-signed', 'platform.ca'],
  ['an authority that is not trusted', 'leaf', null, 'authority that is not trusted', 'platform.ca'],
  ['an expired certificate', 'expired', trusting, 'has expired', 'clock'],
  ['a certificate of the future', 'future', trusting, 'not valid yet', 'clock'],
  [
    'a certificate of another host',
    'other-host',
    pem('other-host.cert'),
    'another host name',
    'platform.baseUrl',
  ],
])('tls: %s is reported with the fix, and not retried at once', async (_, name, ca, what, next) => {
  const server = await serve(name);
  const clock = new StandingClock();
  const random = seededRandom(1);
  const fetch = withRetry(open(ca), {
    plan: defaultRetryPlan,
    clock,
    random,
    logger: silentLogger,
    outage: new Outage(),
  });
  const error: unknown = await fetch(callTo(server.url)).catch((reason: unknown) => reason);
  if (!isFault(error, 'unreachable')) throw error;
  expect(error.message).toContain(what);
  expect(error.about.hint).toContain(next);
  expect([server.connections(), server.requests()]).toEqual([1, 0]);
  // A tick reports both and retries at the longest interval, so a renewed certificate needs no restart.
  const backoff = { baseMillis: 1_000, capMillis: 300_000 };
  const failure = failureOf(error, { backoff, failures: 0, clock, random });
  expect(failure.message).toContain(what);
  expect(failure.message).toContain(next);
  expect(Date.parse(failure.retryAt) - clock.now()).toBe(300_000);
});

test('tls: https to a plain HTTP port is reported with a hint at the address', async () => {
  const server = createPlainServer((_, response) => response.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  await expect(open(null)(callTo(`https://127.0.0.1:${port}/`))).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('does not speak TLS on this port'),
    about: { lasting: true, hint: expect.stringContaining('platform.baseUrl') },
  });
});
