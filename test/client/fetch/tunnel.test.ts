import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openConnectionPool, type PoolOptions } from '../../../src/client/fetch/connection-pool.js';
import { openTunnel, unreachableProxy } from '../../../src/client/fetch/tunnel.js';
import { withCaps } from '../../../src/client/fetch/with-caps.js';
import { proxiesOf } from '../../../src/runtime/proxy.js';
import { freePort } from '../../support/free-port.js';
import { callTo } from './calls.js';
import { pem } from './pem.js';
import { startOther, startProxy } from './proxy-server.js';

const address = 'https://other.test:4443/investments?cursor=c_1';

function open(proxy: string, options: PoolOptions = {}) {
  const extraCa = `${pem('other-host.cert')}\n${pem('loopback.cert')}`;
  const pool = openConnectionPool({ extraCa, proxyFor: proxiesOf({ HTTPS_PROXY: proxy }), ...options });
  onTestFinished(() => pool.close());
  return Object.assign(withCaps(pool.fetch), { close: () => pool.close() });
}

test.each(['http', 'https'] as const)(
  'proxy: requests reach the server through one tunnel, over %s',
  async (scheme) => {
    const heads: unknown[] = [];
    const port = await startOther(({ url, headers }, response) => {
      heads.push([url, headers.host, headers['proxy-authorization']]);
      response.end('{"ok":true}');
    });
    const proxy = await startProxy(port, { scheme });
    const send = open(proxy.url.replace('://', '://ann:Zq7secret@'), { connections: 1 });
    for (const _ of [1, 2])
      expect(await send(callTo(address))).toMatchObject({ status: 200, body: '{"ok":true}' });
    expect(proxy.asked).toEqual([
      { to: 'other.test:4443', authorization: `Basic ${Buffer.from('ann:Zq7secret').toString('base64')}` },
    ]);
    // The server does not learn who signs in at the proxy.
    expect(heads).toEqual(
      Array.from({ length: 2 }, () => ['/investments?cursor=c_1', 'other.test:4443', undefined]),
    );
  },
);

const lost = (why: RegExp) => ({
  code: 'unreachable',
  message: expect.stringMatching(
    new RegExp(`^other\\.test:4443 could not be reached for GET /investments: ${why.source}$`),
  ) as unknown,
});

test.each<[string, RegExp, boolean | undefined]>([
  ['HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\n', /the proxy \S+ answered 407/, true],
  ['HTTP/1.1 401 Who\r\n\r\n', /the proxy \S+ answered 401/, true],
  ['HTTP/1.1 403 No\r\ncontent-length: 3\r\n\r\nno!', /the proxy \S+ answered 403/, true],
  ['HTTP/1.1 408 Late\r\n\r\n', /the proxy \S+ answered 408/, undefined],
  ['HTTP/1.1 429 Many\r\n\r\n', /the proxy \S+ answered 429/, undefined],
  ['HTTP/1.1 502 Bad Gateway\r\n\r\n', /the proxy \S+ answered 502/, undefined],
  ['HTTP/1.1 103 Hints\r\nlink: <a>\r\n\r\nHTTP/1.0 407 Who\n\n', /the proxy \S+ answered 407/, true],
  ['HTTP/1.1 200 OK\r\n\r\nearly', /the proxy \S+ could not be reached: EARLY_BYTES/, undefined],
  ...['SSH-2.0', 'HTTP/1.1 2000 OK\n\n', 'HTTP/1.1 099 OK\n\n', 'HTTP/2 200\n\n'].map(
    (answer): [string, RegExp, undefined] => [
      answer,
      /the proxy \S+ could not be reached: NO_HTTP/,
      undefined,
    ],
  ),
])('proxy: %j is reported as its answer, without what signs in there', async (answer, why, lasting) => {
  const proxy = await startProxy(0, { answer });
  const failed = await open(proxy.url.replace('://', '://ann:Zq7secret@'))(callTo(address)).catch(
    (error: unknown) => error,
  );
  expect(failed).toMatchObject(lost(why));
  expect(failed).toMatchObject({ about: { hint: expect.stringMatching(/proxy|HTTPS_PROXY/) as unknown } });
  expect((failed as { about: { lasting?: boolean } }).about.lasting).toBe(lasting);
  expect(JSON.stringify([failed, String(failed)])).not.toMatch(/Zq7|YW5u/);
});

const check = 'the proxy did not connect: check the address, and whether the proxy can reach it';

test.each([
  [300, check, undefined],
  [399, check, undefined],
  [400, check, true],
  [402, check, true],
  [403, 'the proxy does not permit this host and port: ask who runs it', true],
  [404, check, true],
  [499, check, true],
  [500, check, undefined],
])(
  'proxy: what helps against a refusal with %i, and whether it is one that stays',
  async (status, hint, lasting) => {
    const proxy = await startProxy(0, { answer: `HTTP/1.1 ${status} No\r\n\r\n` });
    const failed = await open(proxy.url)(callTo(address)).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'unreachable', about: { hint } });
    expect((failed as { about: { lasting?: boolean } }).about.lasting).toBe(lasting);
    expect(proxy.asked).toEqual([{ to: 'other.test:4443', authorization: null }]);
  },
);

/** The socket is the answer to the callback. */
async function openedBy(answer: string, ends = false) {
  const { port } = await startProxy(0, { answer, ends });
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const proxy = { hostname: '127.0.0.1', port: String(port), isSecure: false, authorization: null };
  const opened = new Promise<unknown[]>((resolve) =>
    openTunnel(socket, { proxy, to: 'other.test:4443', timeoutMillis: 60_000 }, (...end) => resolve(end)),
  );
  return { socket, end: await opened };
}

test.each([
  'HTTP/1.1 200 Fine\r\n\r\n',
  'HTTP/1.1 299 Fine\r\n\r\n',
  'HTTP/1.0 200\n\n',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: <a>\r\n\r\nHTTP/1.1 200 Fine\r\n\r\n',
])('proxy: its answer %j opens the tunnel', async (answer) => {
  const { socket, end } = await openedBy(answer);
  expect(end).toEqual([null, socket]);
});

test.each([
  ['nothing', '', 'PROXY_ECONNRESET'],
  ['only an interim answer', 'HTTP/1.1 100 Continue\r\n\r\n', 'PROXY_ECONNRESET'],
  ['a head without an end', `HTTP/1.1 200 Fine\r\nx: ${'y'.repeat(16_384)}`, 'PROXY_NO_HTTP'],
  ['interim answers without an end', 'HTTP/1.1 103 Hints\r\n\r\n'.repeat(800), 'PROXY_NO_HTTP'],
])('proxy: one that sends %s and ends the connection has opened no tunnel', async (_, answer, code) => {
  const { end } = await openedBy(answer, true);
  expect(end).toEqual([expect.objectContaining({ code }), null]);
});

test('proxy: an answer that is not HTTP is met with the advice to check port and scheme', async () => {
  const { end } = await openedBy('\x15\x03\x03\0\x02');
  expect(end[0]).toMatchObject({ next: expect.stringContaining('begins with http or https') as unknown });
});

test('proxy: a tunnel that failed is reported once, however its connection ends', async () => {
  const { port } = await startProxy(0, { answer: '' });
  const socket = connect(port, '127.0.0.1');
  const proxy = { hostname: '127.0.0.1', port: String(port), isSecure: false, authorization: null };
  const ends: unknown[] = [];
  const closed = once(socket, 'close');
  openTunnel(socket, { proxy, to: 'other.test:4443', timeoutMillis: 50 }, (...end) => ends.push(end));
  await closed;
  await turn();
  expect(ends).toEqual([[expect.objectContaining({ code: 'PROXY_ETIMEDOUT' }), null]]);
});

test('proxy: an error without a code is no answer, and is not shown', () => {
  const proxy = { hostname: 'proxy.test', port: '3128', isSecure: true, authorization: null };
  expect(unreachableProxy(proxy, new Error('Mara')).message).toBe(
    'the proxy https://proxy.test:3128 could not be reached: no answer',
  );
});

test('proxy: one that asks who you are, before you have said so, is told from one that does not accept it', async () => {
  const proxy = await startProxy(0, { answer: 'HTTP/1.1 407 Who\r\n\r\n' });
  const hints = await Promise.all(
    [proxy.url, proxy.url.replace('://', '://ann:wrong@')].map((url) =>
      open(url)(callTo(address)).catch((error: { about?: { hint?: string } }) => error.about?.hint),
    ),
  );
  expect(hints).toEqual([
    expect.stringContaining('put user and password into HTTPS_PROXY'),
    expect.stringContaining('does not accept the user and password in HTTPS_PROXY'),
  ]);
});

test('proxy: one that is not there is reported as such, not the platform', async () => {
  const sending = open(`http://127.0.0.1:${await freePort()}`)(callTo(address));
  await expect(sending).rejects.toMatchObject(lost(/the proxy \S+ could not be reached: ECONNREFUSED/));
});

test.each([
  { answer: '' },
  { answer: 'H' },
  { answer: 'HTTP/1.1 200 OK\r\n' },
  { answer: 'HTTP/1.1 200 OK\r\nx: ', repeats: true },
])(
  'proxy: one that never completes its answer is given up like a server that accepts no connection: %j',
  async (never) => {
    const proxy = await startProxy(0, never);
    const sending = open(proxy.url, { connectMillis: 200 })(callTo(address));
    await expect(sending).rejects.toMatchObject(lost(/the proxy \S+ could not be reached: ETIMEDOUT/));
    expect(proxy.asked).toHaveLength(1);
  },
);

test('proxy: one whose own certificate is not trusted is named with what to do, and is not tried again', async () => {
  const proxy = await startProxy(0, { scheme: 'https' });
  const failed = await open(proxy.url, { extraCa: pem('other-host.cert') })(callTo(address)).catch(
    (error: unknown) => error,
  );
  expect(failed).toMatchObject(
    lost(
      /the proxy \S+ could not be reached: its certificate is self-signed \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
    ),
  );
  expect(failed).toMatchObject({
    about: {
      lasting: true,
      hint: expect.stringContaining('as NODE_EXTRA_CA_CERTS in the environment of rosterd') as unknown,
    },
  });
  expect(proxy.asked).toEqual([]);
});

test('proxy: a certificate of another host is not trusted because of it', async () => {
  const port = await startOther((_, response) => response.end('{}'));
  const proxy = await startProxy(port);
  const sending = open(proxy.url)(callTo('https://api.example.com/'));
  await expect(sending).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID') as unknown,
  });
});

test.each(['http', 'https'] as const)(
  'proxy: the tunnel is reset when a request is given up, so that the request cannot arrive later, over %s',
  async (scheme) => {
    const stopping = new AbortController();
    const port = await startOther(() => setImmediate(() => stopping.abort()));
    const proxy = await startProxy(port, { scheme });
    const sending = open(proxy.url)(callTo(address, { signal: stopping.signal }));
    await expect(sending).rejects.toMatchObject({ code: 'stopped' });
    expect(await proxy.ended).toBe('ECONNRESET');
  },
);

test.each(['', 'HTTP/1.1 200 OK\r\n\r\n'])(
  'proxy: closing the pool ends a connection that is not ready, after the answer %j',
  async (answer) => {
    const proxy = await startProxy(0, { answer });
    const send = open(proxy.url, { connectMillis: 600_000 });
    const sending = send(callTo(address));
    sending.catch(() => {});
    await expect.poll(() => proxy.asked).toHaveLength(1);
    await send.close();
    await expect(sending).rejects.toMatchObject({ code: 'unreachable' });
    expect(await proxy.ended).toBe(null);
  },
);
