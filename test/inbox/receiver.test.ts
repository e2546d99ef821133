import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import type { AcceptedEvent } from '../../src/inbox/ports.js';
import { createReceiver, type Receiver, type ReceiverParts } from '../../src/inbox/receiver.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { askBeforeSending } from '../support/ask-before-sending.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import { MemoryInbox } from './support/memory-inbox.js';
import { head, RawClient, secret, signed } from './support/raw-http.js';

const acme = 'acme' as SourceName;
let inbox: MemoryInbox;
let receiver: Receiver;
let base: string;
let port: number;
let nudged: SourceName[][];
let told: string[];
let secrets: string[];
const open: Receiver[] = [];

beforeEach(async () => {
  inbox = new MemoryInbox();
  nudged = [];
  told = [];
  secrets = [secret];
  await build();
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

async function build(over: Partial<ReceiverParts> = {}): Promise<void> {
  receiver = createReceiver({
    inbox,
    clock: systemClock,
    logger: silentLogger,
    path: '/webhooks',
    signatureHeader: 'Service-Signature',
    secrets: () => secrets,
    resolveSources: ({ installation }) => (installation === 'inst_1' ? [acme] : []),
    onAccepted: ({ event }, sources) => {
      told.push(`${event} with ${inbox.rows.length} stored`);
      nudged.push([...sources]);
    },
    ...over,
  });
  open.push(receiver);
  ({ port } = await receiver.listen(0));
  base = `http://127.0.0.1:${port}`;
}

const seconds = () => Math.floor(Date.now() / 1000);
const eventBody = (over: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify({
    id: 'evt_1',
    event: 'investment.changed',
    created_at: '2026-10-20T09:30:00Z',
    mode: 'live',
    installation: { id: 'inst_1', target: null, test: false },
    data: { id: 'inv_1', visible: true, company: 'co_1', observed_at: '2026-10-20T09:29:58Z' },
    ...over,
  });

interface Sent {
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signature?: string | null;
  readonly path?: string;
  readonly method?: string;
  readonly signal?: AbortSignal;
}

async function deliver({
  body = eventBody(),
  headers = {},
  signature,
  path = '/webhooks',
  method = 'POST',
  signal,
}: Sent = {}) {
  const header = signature === undefined ? signed(body, seconds()) : signature;
  const response = await fetch(base + path, {
    method,
    signal: signal ?? null,
    headers: {
      'content-type': 'application/json',
      ...(header === null ? {} : { 'service-signature': header }),
      ...headers,
    },
    ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const nothingHappened = () => {
  expect(inbox.rows).toEqual([]);
  expect(told).toEqual([]);
};

describe('receiver: authentic deliveries', () => {
  test('CLIENT-23 a delivery signed with a secret that is being reloaded waits for it; a forged one is rejected', async () => {
    const newest = [...secrets];
    secrets = ['whsec_before'];
    let readings = 0;
    await build({
      newestSecrets: async () => {
        readings += 1;
        return newest;
      },
    });
    const body = eventBody();
    const signature = signed(body, seconds(), newest[0]);
    expect((await deliver({ body, signature })).status).toBe(202);
    expect((await deliver({ body, signature: signed(body, seconds(), 'whsec_forged') })).status).toBe(401);
    expect((await deliver({ body, signature: signed(body, seconds() - 3_600, newest[0]) })).status).toBe(401);
    expect(readings).toBe(3);
  });

  test('CLIENT-24 a delivery is one row, durable before the response, and a nudge', async () => {
    const answer = await deliver();
    expect(answer).toMatchObject({ status: 202, text: '' });
    expect(inbox.rows).toMatchObject([
      { eventId: 'evt_1', installation: 'inst_1', lane: 'acme', state: 'pending' },
    ]);
    expect(nudged).toEqual([[acme]]);
    expect(receiver.status()).toMatchObject({ lastSecret: 0, results: { accepted: 1 } });
  });

  test('DELIV-10 CLIENT-22 a duplicate is recognized by event and installation', async () => {
    await deliver();
    expect((await deliver()).status).toBe(202);
    const other = eventBody({ installation: { id: 'inst_2' } });
    expect((await deliver({ body: other })).status).toBe(202);
    expect(inbox.rows.map((row) => row.installation)).toEqual(['inst_1', 'inst_2']);
    expect(receiver.status().results).toMatchObject({ accepted: 1, duplicate: 1, ignored: 1 });
  });

  test('EVT-11 CLIENT-19 unknown installations and unknown events are accepted and counted', async () => {
    const stranger = eventBody({ id: 'evt_2', installation: { id: 'inst_9' } });
    expect((await deliver({ body: stranger })).status).toBe(202);
    expect((await deliver({ body: eventBody({ id: 'evt_3', event: 'spv.sunk' }) })).status).toBe(202);
    expect(inbox.states()).toEqual(['ignored', 'pending']);
    expect(receiver.status().results).toMatchObject({ ignored: 1, accepted: 1 });
  });

  test('an event without a source is announced too, as it may concern a grant, but only once it is stored', async () => {
    const revoked = eventBody({ event: 'installation.revoked', installation: { id: 'inst_9' } });
    inbox.failure = new Fault('database_busy', 'made up');
    await deliver({ body: revoked });
    nothingHappened();
    inbox.failure = undefined;
    await deliver({ body: revoked });
    expect(told).toEqual(['installation.revoked with 1 stored']);
    expect(nudged).toEqual([[]]);
  });

  test('DELIV-07 CLIENT-25 a test event is accepted and counted, and has no effect', async () => {
    expect((await deliver({ body: eventBody({ id: 'evt_test_1' }) })).status).toBe(202);
    expect(inbox.states()).toEqual(['ignored']);
    expect(nudged).toEqual([]);
    expect(receiver.status().results.test).toBe(1);
  });

  test('the signature is verified over the bytes as sent, including whitespace', async () => {
    const odd = ` \t${eventBody().replaceAll('":', '" :\n ')}\r\n`;
    expect((await deliver({ body: odd })).status).toBe(202);
    expect(inbox.rows[0]?.eventId).toBe('evt_1');
    const respaced = { body: `${odd} `, signature: signed(odd, seconds()) };
    expect((await deliver(respaced)).status).toBe(401);
  });

  test('DELIV-02 a rotation rejects no delivery: old and new secret are valid as long as both are configured', async () => {
    secrets = ['whsec_new', secret];
    expect((await deliver({ body: eventBody({ id: 'evt_a' }) })).status).toBe(202);
    expect(receiver.status().lastSecret).toBe(1);
    const body = eventBody({ id: 'evt_b' });
    expect((await deliver({ body, signature: signed(body, seconds(), 'whsec_new') })).status).toBe(202);
    expect(receiver.status().lastSecret).toBe(0);
    secrets = ['whsec_new'];
    expect((await deliver({ body: eventBody({ id: 'evt_c' }) })).status).toBe(401);
  });

  test('a charset in the content type is accepted', async () => {
    const headers = { 'content-type': 'Application/JSON; charset=utf-8' };
    expect((await deliver({ headers })).status).toBe(202);
  });

  test('concurrent deliveries are all stored, each once', async () => {
    const bodies = Array.from({ length: 200 }, (_, index) => eventBody({ id: `evt_${index % 100}` }));
    const answers = await Promise.all(bodies.map((body) => deliver({ body })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(inbox.rows.length).toBe(100);
    expect(receiver.status().results).toMatchObject({ accepted: 100, duplicate: 100 });
  });
});

describe('receiver: rejected requests get an empty response', () => {
  const refusals: readonly (readonly [string, number, () => Sent])[] = [
    ['without a signature', 401, () => ({ signature: null })],
    ['with a malformed one', 401, () => ({ signature: 'v1=abc' })],
    ['forged', 401, () => ({ signature: signed(eventBody(), seconds(), 'whsec_guessed') })],
    [
      'with another body under a real signature',
      401,
      () => ({ body: '{}', signature: signed(eventBody(), seconds()) }),
    ],
    ['replayed after six minutes', 401, () => ({ signature: signed(eventBody(), seconds() - 360) })],
    ['from six minutes ahead', 401, () => ({ signature: signed(eventBody(), seconds() + 360) })],
    ['signed but not JSON', 400, () => ({ body: '{"id":' })],
    ['signed but not an event', 400, () => ({ body: '{"hello":1}' })],
    ['signed but nested too deep', 400, () => ({ body: `${'['.repeat(9000)}${']'.repeat(9000)}` })],
    ['empty', 400, () => ({ body: '' })],
    ['with another content type', 415, () => ({ headers: { 'content-type': 'text/plain' } })],
    ['compressed', 415, () => ({ body: gzipSync(eventBody()), headers: { 'content-encoding': 'gzip' } })],
    [
      'as a gzip bomb',
      415,
      () => ({ body: gzipSync(Buffer.alloc(10_000_000)), headers: { 'content-encoding': 'br' } }),
    ],
    ['with a declared length that is too large', 413, () => ({ body: 'x'.repeat(65_537) })],
    ['with another method', 405, () => ({ method: 'PUT' })],
    ['by GET', 405, () => ({ method: 'GET' })],
    ['to another path', 404, () => ({ path: '/webhooks/' })],
    ['to an invalid path', 404, () => ({ path: '/%E0%A4%A' })],
  ];
  test.each(refusals)('a request %s is answered with %i', async (_title, status, sent) => {
    const answer = await deliver(sent());
    expect(answer).toMatchObject({ status, text: '' });
    expect(answer.headers.get('x-powered-by')).toBeNull();
    nothingHappened();
  });

  test('64 KB are accepted, one byte more is not, whatever length was declared', async () => {
    const fitting = eventBody().padEnd(65_536, ' ');
    expect((await deliver({ body: fitting })).status).toBe(202);
    const client = new RawClient(port).send(
      head({ 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }),
    );
    for (let chunks = 0; chunks < 5; chunks += 1) client.send(`4000\r\n${'x'.repeat(0x4000)}\r\n`);
    expect(await client.closed).toMatch(/^HTTP\/1\.1 413 /);
    expect(inbox.rows.length).toBe(1);
  });

  test('a sender that sends first and reads later can read its 413', async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 'x');
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => {
      received += String(chunk);
    });
    socket.pause();
    socket.write(head({ 'Content-Type': 'application/json', 'Content-Length': body.length }));
    const failed = await new Promise((resolve) => {
      socket.once('error', resolve);
      socket.write(body, () => resolve(null));
    });
    expect(failed).toBeNull();
    socket.resume();
    await once(socket, 'close');
    expect(received).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close/i);
    expect((await deliver({ body })).status).toBe(413);
    expect(receiver.status().results.too_large).toBe(2);
    nothingHappened();
  });

  test('a sender that never stops is answered once and cut off', async () => {
    const client = new RawClient(port).send(
      head({ 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }),
    );
    const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`;
    for (let megabytes = 0; megabytes < 40; megabytes += 1) client.send(chunk);
    await client.closed;
    expect(receiver.status().results.too_large).toBe(1);
    expect((await deliver()).status).toBe(202);
  });

  test('wrong signatures are in the log at most once a minute, with the setting to compare', async () => {
    const lines: unknown[] = [];
    const clock = new VirtualClock(Date.now());
    const warn = (...line: unknown[]) => void lines.push(line);
    await build({ clock, logger: { ...silentLogger, warn } });
    for (let sent = 0; sent < 3; sent += 1) await deliver({ signature: `t=${seconds()},v1=00` });
    const line = (count: number) => [
      expect.objectContaining({
        count,
        code: 'signature_mismatch',
        hint: expect.stringContaining('receiver.secrets'),
      }),
      'deliveries with a wrong signature were refused',
    ];
    expect(lines).toEqual([line(1)]);
    await clock.advance(60_000);
    expect(lines).toEqual([line(1), line(2)]);
  });

  test('every rejection has a counter', async () => {
    await deliver({ signature: null });
    await deliver({ signature: 'x' });
    await deliver({ signature: signed(eventBody(), 1) });
    await deliver({ signature: `t=${seconds()},v1=00` });
    await deliver({ body: '[]' });
    expect(receiver.status().results).toMatchObject({
      missing_header: 1,
      malformed_header: 1,
      timestamp_out_of_tolerance: 1,
      signature_mismatch: 1,
      invalid_payload: 1,
      accepted: 0,
    });
  });
});

describe('receiver: internal failures', () => {
  test('deliveries that a failing database refuses are in the log at most once a minute, with the newest cause', async () => {
    const lines: unknown[] = [];
    const clock = new VirtualClock(Date.now());
    const error = (...line: unknown[]) => void lines.push(line);
    await build({ clock, logger: { ...silentLogger, error } });
    const line = (cause: Error, count: number) => [
      { error: cause, count },
      'deliveries could not be accepted',
    ];
    const away = new Fault('database_busy', 'away');
    inbox.failure = away;
    for (let sent = 0; sent < 3; sent += 1) expect((await deliver()).status).toBe(503);
    const full = new Fault('database_full', 'full');
    inbox.failure = full;
    expect((await deliver()).status).toBe(503);
    expect(lines).toEqual([line(away, 1)]);
    await clock.advance(60_000);
    expect(lines).toEqual([line(away, 1), line(full, 3)]);
    inbox.failure = undefined;
    expect((await deliver()).status).toBe(202);
    await clock.advance(120_000);
    expect(lines).toHaveLength(2);
  });

  test('DELIV-01 a busy or full database is answered with 503 and Retry-After, never with 2xx', async () => {
    for (const code of ['database_busy', 'database_full'] as const) {
      inbox.failure = new Fault(code, 'made up');
      const answer = await deliver();
      expect(answer).toMatchObject({ status: 503, text: '' });
      expect(answer.headers.get('retry-after')).toBe('5');
    }
    inbox.failure = undefined;
    nothingHappened();
    expect((await deliver()).status).toBe(202);
  });

  test('the receiver does not wait for a database that does not respond', async () => {
    class Stuck extends MemoryInbox {
      override accept(_event: AcceptedEvent): Promise<'stored'> {
        return new Promise(() => {});
      }
    }
    await build({ inbox: new Stuck(), limits: { acceptMillis: 50 } });
    expect((await deliver()).status).toBe(503);
    expect(nudged).toEqual([]);
  });

  test('a delivery stored after its sender got a 503 is worked without waiting for the retry', async () => {
    let goOn = () => {};
    const late = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    class Late extends MemoryInbox {
      override async accept(event: AcceptedEvent): Promise<'stored' | 'duplicate'> {
        await late;
        return super.accept(event);
      }
    }
    let hear = (_sources: readonly SourceName[]) => {};
    const worked = new Promise<readonly SourceName[]>((resolve) => {
      hear = resolve;
    });
    await build({
      inbox: new Late(),
      limits: { acceptMillis: 50 },
      onAccepted: (_, sources) => hear(sources),
    });
    expect((await deliver()).status).toBe(503);
    goOn();
    expect(await worked).toEqual([acme]);
  });

  test('an internal error reveals nothing about itself', async () => {
    await build({
      resolveSources: () => {
        throw new Error('secret detail at /home/somebody/file.ts');
      },
    });
    const answer = await deliver();
    expect(answer).toMatchObject({ status: 500, text: '' });
    expect(JSON.stringify([...answer.headers])).not.toContain('detail');
    expect(receiver.status().results.defect).toBe(1);
  });
});

describe('receiver: slow and broken senders', () => {
  const quick = { headersMillis: 300, requestMillis: 500, checkEveryMillis: 50 };

  test('senders that drip headers or bodies are cut off, other senders are served meanwhile', async () => {
    await build({ limits: quick });
    const drips = Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0
        ? new RawClient(port).send('POST /webhooks HTTP/1.1\r\nHost: a\r\nX-Slow: ')
        : new RawClient(port).send(
            `${head({ 'Content-Type': 'application/json', 'Content-Length': 500 })}{"id":`,
          ),
    );
    expect((await deliver()).status).toBe(202);
    const answers = await Promise.all(drips.map((client) => client.closed));
    for (const answer of answers) expect(answer).toMatch(/^(HTTP\/1\.1 408 |$)/);
    expect(inbox.rows.length).toBe(1);
  });

  test('a sender that disconnects in the middle leaves nothing behind', async () => {
    const client = new RawClient(port).send(
      `${head({ 'Content-Type': 'application/json', 'Content-Length': 500 })}{"id":`,
    );
    await deliver({ body: eventBody({ id: 'evt_other' }) });
    client.cut();
    await client.closed;
    await expect.poll(() => receiver.status().results.cut_off).toBe(1);
    expect(inbox.rows.map((row) => row.eventId)).toEqual(['evt_other']);
  });

  /** An inbox that blocks every row until the test releases it. */
  function slowInbox() {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    class Slow extends MemoryInbox {
      entered = 0;
      override async accept(event: AcceptedEvent) {
        this.entered += 1;
        await gate;
        return await super.accept(event);
      }
    }
    return { slow: new Slow(), go };
  }

  test('close lets a running delivery finish and accepts no new one', async () => {
    const { slow, go } = slowInbox();
    await build({ inbox: slow });
    const delivery = deliver();
    await expect.poll(() => slow.entered).toBe(1);
    const closing = receiver.close();
    await expect(deliver()).rejects.toThrow();
    go();
    expect((await delivery).status).toBe(202);
    await closing;
    expect(slow.rows.length).toBe(1);
    await receiver.close();
  });

  test('close waits a second for a request that has not arrived completely, not as long as its sender may take', async () => {
    const waits = new Map<number, () => void>();
    const wait: Clock['wait'] = (millis, signal) =>
      new Promise((resolve) => {
        waits.set(millis, resolve);
        signal?.addEventListener('abort', () => resolve());
      });
    await build({ clock: { ...systemClock, wait } });
    const slow = new RawClient(port).send(
      `${head({ 'Content-Type': 'application/json', 'Content-Length': 500 })}{"id":`,
    );
    await expect.poll(() => receiver.status().connections.bytes).toBe(6);
    const closing = receiver.close();
    expect([...waits.keys()]).toContain(1000);
    waits.get(1000)?.();
    await closing;
    expect(await slow.closed).toBe('');
    expect(receiver.status().results.cut_off).toBe(1);
  });

  test('close waits for a delivery that is being stored although its sender disconnected', async () => {
    const { slow, go } = slowInbox();
    let waiting = 0;
    const wait: Clock['wait'] = async (millis, signal) => {
      waiting += 1;
      await systemClock.wait(millis, signal);
      waiting -= 1;
    };
    await build({ inbox: slow, clock: { ...systemClock, wait } });
    const sender = new AbortController();
    const delivery = deliver({ signal: sender.signal });
    await expect.poll(() => slow.entered).toBe(1);
    sender.abort();
    await expect(delivery).rejects.toThrow();
    const stored = receiver.close().then(() => slow.rows.length);
    // Only the row is left to wait for: the server has closed.
    await expect.poll(() => waiting).toBe(1);
    go();
    expect(await stored).toBe(1);
    expect(waiting).toBe(0);
  });
});

test('receiver: the health check is served next to the webhook path, and nothing else is', async () => {
  const health = await fetch(`${base}/healthz`);
  expect([health.status, await health.text()]).toEqual([200, 'ok\n']);
  expect(health.headers.get('x-powered-by')).toBeNull();
  for (const path of ['/', '/metrics', '/status.json', '/readyz'])
    expect((await fetch(base + path)).status).toBe(404);
});

test('receiver: forwarding headers of a proxy are ignored', async () => {
  const headers = {
    'x-forwarded-for': '10.0.0.1',
    'x-forwarded-proto': 'gopher',
    'x-forwarded-host': 'evil',
  };
  expect((await deliver({ headers })).status).toBe(202);
});

test('receiver: listens on loopback by default', async () => {
  const { host } = await createAndListen();
  expect(host).toBe('127.0.0.1');
});

async function createAndListen() {
  await build();
  const other = createReceiver({
    inbox,
    clock: systemClock,
    logger: silentLogger,
    path: '/hooks/x',
    signatureHeader: 'Service-Signature',
    secrets: () => secrets,
    resolveSources: () => [],
    onAccepted: () => {},
  });
  open.push(other);
  return await other.listen(0);
}

test('receiver: Expect: 100-continue is answered with 100 for acceptable requests, others are rejected unread', async () => {
  const ask = (body: string, headers: Readonly<Record<string, string>> = {}, path = '/webhooks') =>
    askBeforeSending(
      base + path,
      { 'content-type': 'application/json', 'service-signature': signed(body, seconds()), ...headers },
      body,
    );
  const large = 'x'.repeat(70_000);
  expect([
    await ask(large),
    await ask(eventBody(), { 'content-type': 'text/plain' }),
    await ask(eventBody(), {}, '/elsewhere'),
  ]).toEqual([413, 415, 404].map((status) => ({ continued: false, status })));
  nothingHappened();
  expect(await ask(eventBody())).toEqual({ continued: true, status: 202 });
  expect(inbox.rows).toHaveLength(1);
});

test('receiver: a leading byte order mark of a signed event is ignored, and the stored body is redacted as usual', async () => {
  const body = Buffer.from(
    `\ufeff${eventBody({ actor: { name: 'CANARY' }, data: { id: 'inv_1', investor: { name: 'CANARY' } } })}`,
  );
  const signature = signed(body, seconds());
  expect((await deliver({ body, signature })).status).toBe(202);
  expect(inbox.rows).toMatchObject([{ eventId: 'evt_1', lane: 'acme' }]);
  expect(JSON.parse(inbox.rows[0]?.body ?? '')).toEqual({
    id: 'evt_1',
    event: 'investment.changed',
    created_at: '2026-10-20T09:30:00Z',
    data: { id: 'inv_1' },
  });
  // Without the mark the bytes differ from the signed ones.
  expect((await deliver({ body: body.subarray(3), signature })).status).toBe(401);
});
