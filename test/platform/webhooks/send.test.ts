import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { createServer as createPlain, type IncomingMessage } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Server } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isPublicAddress } from '../../../src/platform/webhooks/blocked-addresses.js';
import type { Resolve } from '../../../src/platform/webhooks/guarded-lookup.js';
import { type SenderSettings, send } from '../../../src/platform/webhooks/send.js';
import { judgeUrl, type Target } from '../../../src/platform/webhooks/url-policy.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { manualClock } from '../../support/manual-clock.js';
import { startReceiver } from './receiver.js';
import { privateAddresses, privateSpellings } from './spellings.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    // The sender closes the connection when it has read enough.
    socket.on('error', () => {});
  });
  open.push(
    () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  );
  return (server.address() as AddressInfo).port;
}

function target(text: string, loopback = true): Target {
  const verdict = judgeUrl(text, loopback);
  if (!verdict.ok) throw new Error(verdict.why);
  return verdict.target;
}

const never = new AbortController().signal;
const settings = (more: Partial<SenderSettings> = {}): SenderSettings => ({
  wall: systemClock,
  resolve: async () => {
    throw new Error('unexpected name lookup');
  },
  ...more,
});
const post = (to: Target, more: Partial<SenderSettings> = {}, signal = never) =>
  send(settings(more), to, { 'Content-Type': 'application/json' }, '{"é":1}', signal);

let connections = 0;
let trap = 0;
beforeEach(async () => {
  connections = 0;
  trap = await listening(
    createTcp((socket) => {
      connections++;
      socket.destroy();
    }),
  );
});

test('send: the receiver gets the exact bytes and the sender gets the status', async () => {
  const receiver = await startReceiver();
  open.push(() => receiver.close());
  const outcome = await post(target(receiver.url));
  expect(outcome).toMatchObject({ status: 200, error: null, response: 'ok' });
  expect(receiver.received[0]).toMatchObject({ method: 'POST', path: '/hook', body: '{"é":1}' });
  expect(receiver.received[0]?.headers['content-length']).toBe('8');
});

test('SEC-08 the sender connects to no notation of a private address, even if the URL check missed it', async () => {
  for (const text of privateSpellings(trap)) {
    if (!URL.canParse(text)) continue;
    const url = new URL(text);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') continue;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const slipped: Target = { url, host, permits: isPublicAddress };
    const outcome = await post(slipped, { resolve: async () => [{ address: '127.0.0.1', family: 4 }] });
    expect([text, outcome?.error]).toEqual([text, 'blocked_url']);
  }
  expect(connections).toBe(0);
});

test('SEC-08 a name that resolves to a private address is blocked, even if it also resolves to public ones', async () => {
  const to = target(`https://hooks.example.com:${trap}/`, false);
  for (const address of privateAddresses) {
    const family = address.includes(':') ? 6 : 4;
    for (const found of [
      [{ address, family }],
      [
        { address: '93.184.216.34', family: 4 },
        { address, family },
      ],
    ]) {
      const outcome = await post(to, { resolve: async () => found });
      expect([address, outcome?.error]).toEqual([address, 'blocked_url']);
    }
  }
  expect(connections).toBe(0);
});

test('SEC-08 a resolver that changes its answer on every lookup cannot cause a connection to a private address', async () => {
  const to = target(`https://hooks.example.com:${trap}/`, false);
  // Public on the first lookup of an attempt, private on every later one: detects a sender that resolves twice.
  // The "public" address must not leave this machine, so it is one that the guard permits and nothing listens on.
  const permitted = '127.0.0.2';
  const permits = (address: string) => address === permitted;
  for (let round = 0; round < 300; round++) {
    let questions = 0;
    const resolve: Resolve = async () =>
      questions++ % 2 === round % 2
        ? [{ address: permitted, family: 4 }]
        : [{ address: '127.0.0.1', family: 4 }];
    const outcome = await post({ ...to, permits }, { resolve });
    expect(questions).toBe(1);
    expect(outcome?.error).toBe(round % 2 === 0 ? 'connection_failed' : 'blocked_url');
  }
  expect(connections).toBe(0);
});

test('send: TLS and Host use the name while the connection uses the checked address', async () => {
  const cert = readFileSync(new URL('./tls/cert.pem', import.meta.url), 'utf8');
  const key = readFileSync(new URL('./tls/key.pem', import.meta.url), 'utf8');
  const seen: unknown[] = [];
  const port = await listening(
    createSecure({ cert, key }, (request, response) => {
      seen.push(request.headers.host, 'servername' in request.socket && request.socket.servername);
      response.writeHead(204).end();
    }),
  );
  const to = { ...target(`https://hooks.example.com:${port}/`, false), permits: () => true };
  const resolve: Resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  expect(await post(to, { resolve, ca: cert })).toMatchObject({ status: 204, error: null });
  expect(seen).toEqual([`hooks.example.com:${port}`, 'hooks.example.com']);
  // Without the certificate authority the same server is not trusted.
  expect(await post(to, { resolve })).toMatchObject({ status: null, error: 'tls_error' });
});

test('send: a server without TLS is a tls_error; a closed port and a dropped connection are connection_failed', async () => {
  const plain = await listening(createPlain((_, response) => response.end()));
  expect(await post(target(`https://127.0.0.1:${plain}/`))).toMatchObject({ error: 'tls_error' });
  expect(await post(target(`http://127.0.0.1:${trap}/`))).toMatchObject({ error: 'connection_failed' });
  expect(await post(target('http://127.0.0.1:1/'))).toMatchObject({ error: 'connection_failed' });
  const unresolved = { ...target('https://hooks.example.com/', false) };
  expect(await post(unresolved)).toMatchObject({ error: 'connection_failed' });
});

test('send: a redirect is returned as a response and not followed', async () => {
  const receiver = await startReceiver();
  open.push(() => receiver.close());
  receiver.answer((_, response) => response.writeHead(307, { location: `http://127.0.0.1:${trap}/` }).end());
  expect(await post(target(receiver.url))).toMatchObject({ status: 307, error: null });
  expect(connections).toBe(0);
});

test('send: at most 4 KB of an endless response are read, without decompression', async () => {
  const endless = await listening(
    createPlain((_, response) => {
      response.writeHead(500);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(1000)));
        response.once('drain', more);
      };
      more();
    }),
  );
  const outcome = await post(target(`http://127.0.0.1:${endless}/`));
  expect(outcome).toMatchObject({ status: 500, error: null });
  expect(outcome?.response.length).toBe(4096);
  const bomb = gzipSync(Buffer.alloc(1_000_000));
  const packed = await listening(
    createPlain((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)),
  );
  const answered = await post(target(`http://127.0.0.1:${packed}/`));
  expect(answered?.status).toBe(200);
  expect(answered?.response.length).toBeLessThanOrEqual(bomb.length);
});

test('DELIV-16 send: a receiver that does not respond times out after 15 seconds, including resolving and connecting', async () => {
  const wall = manualClock(0);
  const heard = new Promise<void>((resolve) => {
    void listening(createTcp(() => resolve())).then((port) => {
      ended.push(post(target(`http://127.0.0.1:${port}/`), { wall }));
    });
  });
  const ended: Promise<unknown>[] = [];
  await heard;
  const resolving = post(target('https://hooks.example.com/', false), {
    wall,
    resolve: () => new Promise(() => {}),
  });
  wall.advance(14_999);
  expect(await Promise.race([resolving, Promise.resolve('still waiting')])).toBe('still waiting');
  wall.advance(1);
  expect(await resolving).toMatchObject({ status: null, error: 'timeout', durationMs: 15_000 });
  expect(await ended[0]).toMatchObject({ status: null, error: 'timeout' });
  expect(wall.waiting).toBe(0);
});

test('send: a receiver that sends only its status counts as a response', async () => {
  const wall = manualClock(0);
  const started = responseBegins();
  const port = await listening(
    createPlain((_, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('abc');
    }),
  );
  const ending = post(target(`http://127.0.0.1:${port}/`), { wall });
  let outcome: unknown;
  void ending.then((it) => {
    outcome = it;
  });
  await started;
  await new Promise((resolve) => setImmediate(resolve));
  expect(outcome).toBeUndefined();
  wall.advance(15_000);
  expect(await ending).toMatchObject({ status: 200, error: null, response: 'abc' });
});

/** Resolves when a request of this process has read the status and the first bytes of its response. */
function responseBegins(): Promise<void> {
  return new Promise((resolve) => {
    const channel = 'http.client.response.finish';
    const onResponse = (message: unknown) => {
      (message as { response: IncomingMessage }).response.once('data', () => resolve());
    };
    subscribe(channel, onResponse);
    open.push(async () => void unsubscribe(channel, onResponse));
  });
}

test('send: an aborted send resolves with null', async () => {
  const stop = new AbortController();
  const heard = new Promise<void>((resolve) => {
    void listening(createTcp(() => resolve())).then((port) => {
      ending = post(target(`http://127.0.0.1:${port}/`), {}, stop.signal);
    });
  });
  let ending: Promise<unknown> = Promise.resolve('not started');
  await heard;
  stop.abort();
  expect(await ending).toBeNull();
});
