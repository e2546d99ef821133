import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import net, { type AddressInfo, Socket } from 'node:net';
import tls, { TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openConnectionPool, type PoolOptions } from '../../../src/client/fetch/connection-pool.js';
import { openConnector } from '../../../src/client/fetch/connector.js';
import { withCaps } from '../../../src/client/fetch/with-caps.js';
import { withTimeout } from '../../../src/client/fetch/with-timeout.js';
import { type Clock, systemClock } from '../../../src/runtime/clock.js';
import { noProxy, proxiesOf } from '../../../src/runtime/proxy.js';
import { callTo } from './calls.js';
import { endOfFirst } from './end-of-first.js';
import { pem } from './pem.js';

/**
 * With TLS 1.3 a client may close before it has read the server's tickets, and the system then resets the connection by
 * itself.
 */
const older = { maxVersion: 'TLSv1.2' } as const;

/** `ended` is the error code with which the first connection ended, or null after a proper end. */
async function serve(scheme: 'http' | 'https', handle: RequestListener) {
  const server =
    scheme === 'http'
      ? createServer(handle)
      : createSecureServer({ cert: pem('loopback.cert'), key: pem('loopback.key'), ...older }, handle);
  const ended = endOfFirst(server, scheme);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/`, ended };
}

function open(options: PoolOptions = {}, clock: Clock = systemClock) {
  const pool = openConnectionPool({ extraCa: pem('loopback.cert'), ...options });
  onTestFinished(() => pool.close());
  return { pool, send: withTimeout(withCaps(pool.fetch), clock, 60_000) };
}

describe.each(['http', 'https'] as const)('connection: over %s', (scheme) => {
  test('connection: it is reset when a request is given up, so that the request cannot arrive later', async () => {
    const timeUp = new AbortController();
    const clock: Clock = { ...systemClock, wait: () => once(timeUp.signal, 'abort').then(() => {}) };
    const { url, ended } = await serve(scheme, () => setImmediate(() => timeUp.abort()));
    await expect(open({}, clock).send(callTo(url))).rejects.toMatchObject({ code: 'unreachable' });
    expect(await ended).toBe('ECONNRESET');
  });

  test('connection: it is reset when its caller stops', async () => {
    const stopping = new AbortController();
    const { url, ended } = await serve(scheme, () => setImmediate(() => stopping.abort()));
    await expect(open().send(callTo(url, { signal: stopping.signal }))).rejects.toMatchObject({
      code: 'stopped',
    });
    expect(await ended).toBe('ECONNRESET');
  });

  test('connection: it ends properly once every request has its response', async () => {
    const { url, ended } = await serve(scheme, (_, response) => response.end('{}'));
    const { pool, send } = open();
    expect((await send(callTo(url))).status).toBe(200);
    await pool.close();
    expect(await ended).toBeNull();
  });
});

test('connection: it is reset when no head of a response came in time', async () => {
  const { url, ended } = await serve('http', () => {});
  await expect(open({ headersMillis: 50 }).send(callTo(url))).rejects.toMatchObject({ code: 'unreachable' });
  expect(await ended).toBe('ECONNRESET');
});

test.each([
  ['http:', 'api.test', '', 'api.test:80'],
  ['https:', 'api.test', '', 'api.test:443'],
  ['https:', 'api.test', '8443', 'api.test:8443'],
  ['https:', '::1', '8443', '::1:8443'],
])(
  'connection: over %s to the host %s and the port %j it is opened to %s',
  async (protocol, hostname, port, opened) => {
    const addresses: unknown[] = [];
    const connect = vi.spyOn(net, 'connect').mockImplementation((options: unknown) => {
      const { host, port } = options as { host: string; port: string };
      addresses.push(`${host}:${port}`);
      const socket = new Socket();
      setImmediate(() => socket.destroy(new Error('no network')));
      return socket;
    });
    onTestFinished(() => connect.mockRestore());
    const open = openConnector({
      timeoutMillis: 60_000,
      ca: null,
      isAwaited: () => false,
      proxyFor: noProxy,
    });
    const failed = new Promise((resolve) =>
      open({ hostname, protocol, port }, (...[error]) => resolve(error)),
    );
    expect(await failed).toMatchObject({ message: 'no network' });
    expect(addresses).toEqual([opened]);
  },
);

test.each([
  ['https://[2001:db8::1]:3128', '192.0.2.1'],
  ['', '2001:db8::7'],
])(
  'connection: no part of an IPv6 address is taken for the name in a certificate: proxy %j, server %s',
  async (proxy, hostname) => {
    const names: unknown[] = [];
    const connect = vi.spyOn(net, 'connect').mockImplementation(() => {
      const socket = new Socket();
      setImmediate(() => socket.emit('connect'));
      return socket;
    });
    const secured = vi.spyOn(tls, 'connect').mockImplementation((options: unknown) => {
      names.push((options as { servername: unknown }).servername);
      const socket = new TLSSocket(new Socket());
      setImmediate(() => socket.destroy(new Error('no network')));
      return socket;
    });
    onTestFinished(() => {
      connect.mockRestore();
      secured.mockRestore();
    });
    const open = openConnector({
      timeoutMillis: 60_000,
      ca: null,
      isAwaited: () => false,
      proxyFor: proxiesOf({ HTTPS_PROXY: proxy }),
    });
    await new Promise((resolve) =>
      open({ hostname, host: hostname, protocol: 'https:', port: '' }, (...[error]) => resolve(error)),
    );
    expect(names).toEqual([null]);
  },
);
