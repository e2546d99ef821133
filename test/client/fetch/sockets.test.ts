import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openConnectionPool, type PoolOptions } from '../../../src/client/fetch/connection-pool.js';
import { withCaps } from '../../../src/client/fetch/with-caps.js';
import { withTimeout } from '../../../src/client/fetch/with-timeout.js';
import { withVersion } from '../../../src/client/fetch/with-version.js';
import { Fault } from '../../../src/domain/fault.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { headerNames } from '../../../src/wire/headers.js';
import { callTo } from './calls.js';
import { listen } from './wire-server.js';

/** Without `totalMillis`, a call has as much time as the test. */
function open(options: PoolOptions = {}, caps?: { bodyBytesMax: number }, totalMillis = 300_000) {
  const pool = openConnectionPool(options);
  onTestFinished(() => pool.close());
  return withTimeout(withCaps(pool.fetch, caps), systemClock, totalMillis);
}

async function faultOf(answering: Promise<unknown>): Promise<Fault> {
  const error = await answering.then(
    () => new Error('it answered'),
    (reason: unknown) => reason,
  );
  if (error instanceof Fault) return error;
  throw error;
}

test('wire: a response arrives complete, decompressed, with its headers', async () => {
  const server = await listen((request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip', 'x-service-request-id': 'req_1' });
    response.end(gzipSync(JSON.stringify({ asked: request.url, ü: '…' })));
  });
  const answer = await open()(callTo(`${server.url}/investments?cursor=1`));
  expect(JSON.parse(answer.body)).toEqual({ asked: '/investments?cursor=1', ü: '…' });
  expect(answer.headers.get('X-Service-Request-Id')).toBe('req_1');
  expect(server.requests[0]?.headers['accept-encoding']).toBe('gzip');
});

test.each([200, 204, 400, 401])(
  'wire: an empty %i response that a proxy marked as gzip is an empty response',
  async (status) => {
    const server = await listen((_, response) => {
      response.writeHead(status, { 'content-encoding': 'gzip' });
      response.end();
    });
    const send = open({ connections: 1 });
    for (let times = 0; times < 2; times += 1)
      expect(await send(callTo(server.url))).toMatchObject({ status, body: '' });
  },
);

test('CLIENT-02 wire: an explicit version is sent with every call, under the configured header name', async () => {
  const server = await listen((_, response) => response.end('{}'));
  const send = withVersion(open(), headerNames('Other'), '2026-10-15');
  await send(callTo(server.url));
  expect(server.requests[0]?.headers['other-version']).toBe('2026-10-15');
});

test.each([
  [2, { connections: 2 }],
  [8, {}],
])('wire: many calls share the %i connections of the pool', async (connections, options) => {
  const sockets = new Set<unknown>();
  const held: ServerResponse[] = [];
  const server = await listen((request, response) => {
    sockets.add(request.socket);
    held.push(response);
    if (server.requests.length >= connections) for (const one of held.splice(0)) one.end('{}');
  });
  const send = open(options);
  await Promise.all(Array.from({ length: 30 }, () => send(callTo(server.url))));
  expect(server.requests).toHaveLength(30);
  expect(sockets.size).toBe(connections);
});

test('wire: a server that sends a byte at a time hits the total timeout', async () => {
  const server = await listen((_, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(drip));
  });
  const fault = await faultOf(open({}, undefined, 300)(callTo(server.url)));
  expect(fault).toMatchObject({ code: 'unreachable' });
  expect(fault.message).toContain('no complete answer after 300 ms');
});

test('wire: a server that never responds hits the timeout', async () => {
  const server = await listen(() => {});
  expect(await faultOf(open({}, undefined, 200)(callTo(server.url)))).toMatchObject({ code: 'unreachable' });
});

test("wire: the pool's timeouts end silence before the headers or within the body", async () => {
  const server = await listen((request, response) => {
    if (request.url === '/body') response.write('{');
  });
  const fault = (path: string, limits: PoolOptions) => faultOf(open(limits)(callTo(server.url + path)));
  expect((await fault('/headers', { headersMillis: 200 })).message).toContain('UND_ERR_HEADERS_TIMEOUT');
  expect((await fault('/body', { bodyMillis: 200 })).message).toContain('UND_ERR_BODY_TIMEOUT');
});

test('wire: a stop aborts a running request', async () => {
  const stopping = new AbortController();
  const server = await listen(() => stopping.abort());
  const fault = await faultOf(open()(callTo(server.url, { signal: stopping.signal })));
  expect(fault).toMatchObject({ code: 'stopped' });
  expect(await faultOf(open()(callTo(server.url, { signal: stopping.signal })))).toMatchObject({
    code: 'stopped',
  });
  expect(server.requests).toHaveLength(1);
});

test('wire: a refused or reset connection is unreachable, and the query is not reported', async () => {
  const server = await listen((request) => request.socket.destroy());
  const reset = await faultOf(open()(callTo(`${server.url}/investments?cursor=secret`)));
  expect(reset).toMatchObject({ code: 'unreachable' });
  expect(reset.message).not.toContain('secret');
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  expect((await faultOf(open()(callTo(`http://127.0.0.1:${port}/`)))).message).toContain('ECONNREFUSED');
});

test('wire: a body truncated anywhere is not a response', async () => {
  const body = JSON.stringify({ data: [], meta: { has_more: false } });
  let cutAt = 0;
  const server = await listen((_, response) => {
    response.writeHead(200, { 'content-length': body.length });
    response.write(body.slice(0, cutAt), () => response.destroy());
  });
  const send = open();
  for (cutAt = 1; cutAt < body.length; cutAt += 5) {
    expect(await faultOf(send(callTo(server.url)))).toMatchObject({ code: 'unreachable' });
  }
  expect(server.requests.length).toBeGreaterThan(5);
});

test('wire: a chunked body truncated within a chunk is not a response either', async () => {
  const server = await listen((_, response) => {
    response.writeHead(200);
    response.write('{"data":[]', () => response.destroy());
  });
  expect(await faultOf(open()(callTo(server.url)))).toMatchObject({ code: 'unreachable' });
});

test('wire: a gzip bomb is aborted as soon as it is too large', async () => {
  const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(300_000);
  const server = await listen((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(bomb);
  });
  const before = process.memoryUsage.rss();
  const fault = await faultOf(open()(callTo(server.url)));
  expect(fault).toMatchObject({ code: 'contract_broken' });
  expect(fault.message).toContain('1048576 bytes');
  expect(process.memoryUsage.rss() - before).toBeLessThan(120 * 1024 * 1024);
});

test('wire: an endless body is aborted, by its size on the wire and by its decompressed size', async () => {
  let sent = 0;
  const server = await listen((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 32))) sent += 65_536;
    };
    response.on('drain', more);
    more();
  });
  const caps = { bodyBytesMax: 1_000_000 };
  expect(await faultOf(open({}, caps)(callTo(server.url)))).toMatchObject({ code: 'contract_broken' });
  expect(await faultOf(open({ wireBytesMax: 500_000 })(callTo(server.url)))).toMatchObject({
    code: 'contract_broken',
  });
  expect(sent).toBeLessThan(40_000_000);
});

test.each(['br', 'gzip, gzip', 'deflate', 'zstd'])(
  'wire: a body in %s, which was not requested, is rejected unread',
  async (encoding) => {
    const server = await listen((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding });
      response.end(gzipSync('{}'));
    });
    expect(await faultOf(open()(callTo(server.url)))).toMatchObject({ code: 'contract_broken' });
  },
);

test.each([300, 301, 302, 303, 307, 308])(
  'wire: a redirect (%i) is not followed, and the second address never receives the token',
  async (status) => {
    const other = await listen((_, response) => response.end('{}'));
    const server = await listen((_, response) => {
      response.writeHead(status, { location: `${other.url}/elsewhere?token=x` });
      response.end();
    });
    const call = callTo(server.url, { headers: { authorization: 'Bearer at_secret' } });
    const fault = await faultOf(open()(call));
    expect(fault).toMatchObject({ code: 'contract_broken', about: { status } });
    expect(fault.message).toContain(new URL(other.url).host);
    expect(fault.message).not.toContain('elsewhere');
    expect(other.requests).toHaveLength(0);
  },
);

test('wire: 304 answers a conditional request, and is refused for any other', async () => {
  const server = await listen((_, response) => response.writeHead(304, { etag: '"a"' }).end());
  const headers = { 'if-none-match': '"a"' };
  expect(await open()(callTo(server.url, { headers }))).toMatchObject({ status: 304, body: '' });
  expect(await faultOf(open()(callTo(server.url)))).toMatchObject({ code: 'contract_broken' });
});

test('wire: the connection of an unread response is closed although its body never ends', async () => {
  let closed = () => {};
  const over = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const server = await listen((_, response) => {
    response.on('close', closed);
    response.writeHead(302, { location: '/elsewhere' });
    response.write('a first piece');
  });
  expect(await faultOf(open()(callTo(server.url)))).toMatchObject({ code: 'contract_broken' });
  await over;
});

test('wire: a body marked as gzip that is not gzip is not a response', async () => {
  const server = await listen((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end('no gzip at all');
  });
  expect(await faultOf(open()(callTo(server.url)))).toMatchObject({ code: 'unreachable' });
});

test('wire: invalid UTF-8 becomes U+FFFD', async () => {
  const server = await listen((_, response) => response.end(Buffer.from([0x22, 0xff, 0x22])));
  expect((await open()(callTo(server.url))).body).toBe('"\uFFFD"');
});

test('wire: a call aborted while waiting for a connection fails at once and is not sent later', async () => {
  let answerFirst = () => {};
  const server = await listen((request, response) => {
    const respond = () => void response.end('{}');
    if (request.url === '/first') answerFirst = respond;
    else respond();
  });
  const send = open({ connections: 1 });
  const first = send(callTo(`${server.url}/first`));
  await expect.poll(() => server.requests.length).toBe(1);
  const aborting = new AbortController();
  const second = faultOf(send(callTo(`${server.url}/second`, { signal: aborting.signal })));
  const third = send(callTo(`${server.url}/third`));
  aborting.abort();
  expect((await second).code).toBe('stopped');
  answerFirst();
  expect([(await first).status, (await third).status]).toEqual([200, 200]);
  expect(server.requests.map(({ url }) => url)).toEqual(['/first', '/third']);
});

test('wire: an idle connection waits 50 s for the next read, and 4 s for a request that may not be repeated', async () => {
  // It says nothing about how long it keeps a connection.
  const server = await listen((_, response) => response.end('{}'), { keepAliveTimeout: 0 });
  const timers = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => timers.mockRestore());
  const send = open();
  const waits = () => timers.mock.calls.map(([, millis]) => millis).filter((millis) => millis !== undefined);
  await send(callTo(server.url));
  await expect.poll(waits).toContain(50_000);
  expect(waits()).not.toContain(4_000);
  await send(callTo(server.url, { method: 'POST' }));
  await expect.poll(waits).toContain(4_000);
});

test('wire: after a read without an answer, the next ones wait for no idle connection, which may be as dead', async () => {
  const silent = new Set<Socket>();
  const server = await listen(({ socket }, response) => {
    if (!silent.has(socket)) response.end('{}');
  });
  const send = open({ headersMillis: 1_000 });
  const two = () => Promise.all([send(callTo(server.url)), send(callTo(server.url))]);
  await two();
  for (const { socket } of server.requests) silent.add(socket);
  expect(silent.size).toBe(2);
  expect(await faultOf(send(callTo(server.url)))).toMatchObject({ code: 'unreachable' });
  expect(await two()).toMatchObject([{ status: 200 }, { status: 200 }]);
});

test('wire: after a reset request and an aborted read, the other connections are used again', async () => {
  const server = await listen((request, response) => {
    if (request.url === '/reset') request.socket.destroy();
    else if (request.url !== '/silent') response.end('{}');
  });
  const send = open();
  const ask = (path: string, more: Parameters<typeof callTo>[1] = {}) =>
    send(callTo(`${server.url}${path}`, more));
  await Promise.all([ask('/'), ask('/')]);
  expect(await faultOf(ask('/reset', { method: 'POST' }))).toMatchObject({ code: 'unreachable' });
  expect(await ask('/', { method: 'POST' })).toMatchObject({ status: 200 });
  const stop = new AbortController();
  const silent = faultOf(ask('/silent', { signal: stop.signal }));
  await expect.poll(() => server.requests.at(-1)?.url).toBe('/silent');
  stop.abort();
  expect(await silent).toMatchObject({ code: 'stopped' });
  await ask('/');
  const reads = server.requests.filter(({ method }) => method === 'GET').map(({ socket }) => socket);
  expect(new Set(reads).size).toBe(2);
});

test('wire: 1xx responses are ignored', async () => {
  const server = await listen((_, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.end('{"is":"the answer"}');
  });
  expect(await open()(callTo(server.url))).toMatchObject({ status: 200, body: '{"is":"the answer"}' });
});
