import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { askBeforeSending } from '../support/ask-before-sending.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import { head, RawClient, secret, signed } from './support/raw-http.js';
import { acme, eventBody, receiverFixture, type Sent, seconds } from './support/receiver-fixture.js';

const its = receiverFixture();

describe('receiver: authentic deliveries', () => {
  test('CLIENT-23 a delivery signed with a secret that is being reloaded waits for it; a forged one is rejected', async () => {
    const newest = [...its.secrets];
    its.secrets = ['whsec_before'];
    let readings = 0;
    await its.build({
      newestSecrets: async () => {
        readings += 1;
        return newest;
      },
    });
    const body = eventBody();
    const answers = async (...signatures: readonly string[]) => {
      const statuses: number[] = [];
      for (const signature of signatures) statuses.push((await its.deliver({ body, signature })).status);
      return statuses;
    };
    const [ours, forged, late] = [
      signed(body, seconds(), newest[0]),
      signed(body, seconds(), 'whsec_forged'),
      signed(body, seconds() - 3_600, newest[0]),
    ];
    expect(await answers(ours, forged, late)).toEqual([202, 401, 401]);
    expect(readings).toBe(3);
    expect(await answers(signed(body, seconds(), 'whsec_before'), 'v1=abc')).toEqual([202, 401]);
    expect(readings, 'no reload could change these').toBe(3);
  });

  test('each genuine signature is reported with how far the clock of its signer is ahead beyond the tolerance', async () => {
    const seen: (number | null)[] = [];
    await its.build({ onGenuine: (aheadSeconds) => void seen.push(aheadSeconds) });
    const body = eventBody();
    for (const ahead of [0, 3_600, -3_600])
      await its.deliver({ body, signature: signed(body, seconds() + ahead) });
    expect(seen).toEqual([null, expect.closeTo(3_600, -2), expect.closeTo(-3_600, -2)]);
    for (const signature of [null, 'v1=abc', signed(body, seconds(), 'whsec_guessed')])
      await its.deliver({ body, signature });
    expect(seen).toHaveLength(3);
  });

  test('CLIENT-24 a delivery is one row, durable before the response, and a nudge', async () => {
    const answer = await its.deliver();
    expect(answer).toMatchObject({ status: 202, text: '' });
    expect(its.inbox.rows).toMatchObject([
      { eventId: 'evt_1', installation: 'inst_1', lane: 'acme', state: 'pending' },
    ]);
    expect(its.nudged).toEqual([[acme]]);
    expect(its.receiver.status()).toMatchObject({ results: { accepted: 1 } });
  });

  test('DELIV-10 CLIENT-22 a duplicate is recognized by event and installation', async () => {
    await its.deliver();
    expect((await its.deliver()).status).toBe(202);
    const other = eventBody({ installation: { id: 'inst_2' } });
    expect((await its.deliver({ body: other })).status).toBe(202);
    expect(its.inbox.rows.map((row) => row.installation)).toEqual(['inst_1', 'inst_2']);
    expect(its.receiver.status().results).toMatchObject({ accepted: 1, duplicate: 1, ignored: 1 });
  });

  test('EVT-11 CLIENT-19 unknown installations and unknown events are accepted and counted', async () => {
    const stranger = eventBody({ id: 'evt_2', installation: { id: 'inst_9' } });
    expect((await its.deliver({ body: stranger })).status).toBe(202);
    expect((await its.deliver({ body: eventBody({ id: 'evt_3', event: 'spv.sunk' }) })).status).toBe(202);
    expect(its.inbox.states()).toEqual(['ignored', 'pending']);
    expect(its.receiver.status().results).toMatchObject({ ignored: 1, accepted: 1 });
  });

  test('an event without a source is announced too, as it may concern a grant, but only once it is stored', async () => {
    const revoked = eventBody({ event: 'installation.revoked', installation: { id: 'inst_9' } });
    its.inbox.failure = new Fault('database_busy', 'made up');
    await its.deliver({ body: revoked });
    its.nothingHappened();
    its.inbox.failure = undefined;
    await its.deliver({ body: revoked });
    expect(its.told).toEqual(['installation.revoked with 1 stored']);
    expect(its.nudged).toEqual([[]]);
  });

  test('DELIV-07 CLIENT-25 a test event is accepted and counted, and has no effect', async () => {
    expect((await its.deliver({ body: eventBody({ id: 'evt_test_1' }) })).status).toBe(202);
    expect(its.inbox.states()).toEqual(['ignored']);
    expect(its.nudged).toEqual([]);
    expect(its.receiver.status().results.test).toBe(1);
  });

  test('the signature is verified over the bytes as sent, including whitespace', async () => {
    const odd = ` \t${eventBody().replaceAll('":', '" :\n ')}\r\n`;
    expect((await its.deliver({ body: odd })).status).toBe(202);
    expect(its.inbox.rows[0]?.eventId).toBe('evt_1');
    const respaced = { body: `${odd} `, signature: signed(odd, seconds()) };
    expect((await its.deliver(respaced)).status).toBe(401);
  });

  test('DELIV-02 a rotation rejects no delivery: old and new secret are valid as long as both are configured', async () => {
    its.secrets = ['whsec_new', secret];
    expect((await its.deliver({ body: eventBody({ id: 'evt_a' }) })).status).toBe(202);
    const body = eventBody({ id: 'evt_b' });
    expect((await its.deliver({ body, signature: signed(body, seconds(), 'whsec_new') })).status).toBe(202);
    its.secrets = ['whsec_new'];
    expect((await its.deliver({ body: eventBody({ id: 'evt_c' }) })).status).toBe(401);
  });

  test('a charset in the content type is accepted', async () => {
    const headers = { 'content-type': 'Application/JSON; charset=utf-8' };
    expect((await its.deliver({ headers })).status).toBe(202);
  });

  test('concurrent deliveries are all stored, each once', async () => {
    const bodies = Array.from({ length: 200 }, (_, index) => eventBody({ id: `evt_${index % 100}` }));
    const answers = await Promise.all(bodies.map((body) => its.deliver({ body })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(its.inbox.rows.length).toBe(100);
    expect(its.receiver.status().results).toMatchObject({ accepted: 100, duplicate: 100 });
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
    const answer = await its.deliver(sent());
    expect(answer).toMatchObject({ status, text: '' });
    expect(answer.headers.get('x-powered-by')).toBeNull();
    expect(answer.headers.get('allow')).toBe(status === 405 ? 'POST' : null);
    expect(answer.headers.get('retry-after')).toBeNull();
    its.nothingHappened();
  });

  test('64 KB are accepted, one byte more is not, whatever length was declared', async () => {
    const fitting = eventBody().padEnd(65_536, ' ');
    expect((await its.deliver({ body: fitting })).status).toBe(202);
    const client = new RawClient(its.port).send(
      head({ 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }),
    );
    for (let chunks = 0; chunks < 5; chunks += 1) client.send(`4000\r\n${'x'.repeat(0x4000)}\r\n`);
    expect(await client.closed).toMatch(/^HTTP\/1\.1 413 /);
    expect(its.inbox.rows.length).toBe(1);
  });

  test('a sender that sends first and reads later can read its 413', async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 'x');
    const socket = connect(its.port, '127.0.0.1');
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
    expect((await its.deliver({ body })).status).toBe(413);
    expect(its.receiver.status().results.too_large).toBe(2);
    its.nothingHappened();
  });

  test('a sender that never stops is answered once and cut off', async () => {
    const client = new RawClient(its.port).send(
      head({ 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }),
    );
    const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`;
    for (let megabytes = 0; megabytes < 40; megabytes += 1) client.send(chunk);
    await client.closed;
    expect(its.receiver.status().results.too_large).toBe(1);
    expect((await its.deliver()).status).toBe(202);
  });

  test('wrong signatures are in the log at most once a minute, with the setting to compare', async () => {
    const lines: unknown[] = [];
    const clock = new VirtualClock(Date.now());
    const warn = (...line: unknown[]) => void lines.push(line);
    await its.build({ clock, logger: { ...silentLogger, warn } });
    for (const signature of [null, 'v1=abc', signed(eventBody(), 1)]) await its.deliver({ signature });
    expect(lines, 'only what a wrong secret causes').toEqual([]);
    for (let sent = 0; sent < 3; sent += 1) await its.deliver({ signature: `t=${seconds()},v1=00` });
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

  test('every rejection has a counter, and strangers cause no errors in the log', async () => {
    const errors: unknown[] = [];
    await its.build({ logger: { ...silentLogger, error: (...line) => void errors.push(line) } });
    await its.deliver({ signature: null });
    await its.deliver({ signature: 'x' });
    await its.deliver({ signature: signed(eventBody(), 1) });
    await its.deliver({ signature: `t=${seconds()},v1=00` });
    await its.deliver({ body: '[]' });
    expect(its.receiver.status().results).toMatchObject({
      missing_header: 1,
      malformed_header: 1,
      timestamp_out_of_tolerance: 1,
      signature_mismatch: 1,
      invalid_payload: 1,
      accepted: 0,
    });
    expect(errors).toEqual([]);
  });
});

test('receiver: the health check is served next to the webhook path, and nothing else is', async () => {
  const health = await fetch(`${its.base}/healthz`);
  expect([health.status, await health.text()]).toEqual([200, 'ok\n']);
  expect(health.headers.get('x-powered-by')).toBeNull();
  for (const path of ['/', '/metrics', '/status.json', '/readyz'])
    expect((await fetch(its.base + path)).status).toBe(404);
});

test('receiver: forwarding headers of a proxy are ignored', async () => {
  const headers = {
    'x-forwarded-for': '10.0.0.1',
    'x-forwarded-proto': 'gopher',
    'x-forwarded-host': 'evil',
  };
  expect((await its.deliver({ headers })).status).toBe(202);
});

test('receiver: listens on loopback by default', async () => {
  expect((await its.build()).host).toBe('127.0.0.1');
});

test('receiver: Expect: 100-continue is answered with 100 for acceptable requests, others are rejected unread', async () => {
  const ask = (body: string, headers: Readonly<Record<string, string>> = {}, path = '/webhooks') =>
    askBeforeSending(
      its.base + path,
      { 'content-type': 'application/json', 'service-signature': signed(body, seconds()), ...headers },
      body,
    );
  const large = 'x'.repeat(70_000);
  expect([
    await ask(large),
    await ask(eventBody(), { 'content-type': 'text/plain' }),
    await ask(eventBody(), {}, '/elsewhere'),
  ]).toEqual([413, 415, 404].map((status) => ({ continued: false, status })));
  its.nothingHappened();
  expect(await ask(eventBody())).toEqual({ continued: true, status: 202 });
  expect(its.inbox.rows).toHaveLength(1);
});

test('receiver: a leading byte order mark of a signed event is ignored, and the stored body is redacted as usual', async () => {
  const body = Buffer.from(
    `\ufeff${eventBody({ actor: { name: 'CANARY' }, data: { id: 'inv_1', investor: { name: 'CANARY' } } })}`,
  );
  const signature = signed(body, seconds());
  expect((await its.deliver({ body, signature })).status).toBe(202);
  expect(its.inbox.rows).toMatchObject([{ eventId: 'evt_1', lane: 'acme' }]);
  expect(JSON.parse(its.inbox.rows[0]?.body ?? '')).toEqual({
    id: 'evt_1',
    event: 'investment.changed',
    created_at: '2026-10-20T09:30:00Z',
    data: { id: 'inv_1' },
  });
  // Without the mark the bytes differ from the signed ones.
  expect((await its.deliver({ body: body.subarray(3), signature })).status).toBe(401);
});
