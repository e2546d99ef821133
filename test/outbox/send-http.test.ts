import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openConnectionPool } from '../../src/client/fetch/connection-pool.js';
import { unreachableProxy } from '../../src/client/fetch/tunnel.js';
import type { PostFetch } from '../../src/outbox/ports.js';
import { messageId, sendSigned, sendToSlack } from '../../src/outbox/send-http.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { bodyOf } from '../support/body-of.js';
import { dueNotice } from './samples.js';

interface Request {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A receiver on a real socket. */
async function receiver(answer: (response: ServerResponse) => void) {
  const requests: Request[] = [];
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    if (body === null) return;
    requests.push({ headers: request.headers, body });
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const pool = openConnectionPool();
  onTestFinished(async () => {
    await pool.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { requests, url: `http://127.0.0.1:${port}/hook`, parts: { fetch: pool.fetch, clock: systemClock } };
}

const status =
  (code: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse) => {
    response.writeHead(code, headers).end('what it says is never repeated');
  };
const never = new AbortController().signal;
/** A clock whose waits end at once, so every timeout has passed. */
const hasty: Clock = { ...systemClock, wait: async () => {} };

const response = (code: number, headers: Record<string, string> = {}) => ({
  status: code,
  headers: new Headers(headers),
  body: null,
});
const sentTo = (fetch: PostFetch, clock: Clock = systemClock) =>
  sendSigned('https://crm.example.com/hook', async () => 'k', { fetch, clock })(dueNotice(), never);

describe('send: signed HTTP', () => {
  test.each([
    ['a whsec_ secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', {}],
    ['a secret of raw text', 'not base64!', { format: 'raw' as const }],
  ])('a notice signed with %s passes the verification of the standard', async (_, secret, options) => {
    const { requests, url, parts } = await receiver(status(204));
    const notice = dueNotice();
    expect(await sendSigned(url, async () => secret, parts)(notice, never)).toEqual({ kind: 'delivered' });
    const [request] = requests;
    const verified = new Webhook(secret, options).verify(
      request?.body ?? '',
      request?.headers as Record<string, string>,
    );
    expect(verified).toEqual(JSON.parse(notice.body));
    expect(request?.headers['webhook-id']).toBe(messageId(notice));
    expect(() =>
      new Webhook(secret, options).verify('{}', request?.headers as Record<string, string>),
    ).toThrow();
  });

  test('a signed notice has one id for every attempt, and another for another body', () => {
    expect(messageId(dueNotice({ attempts: 3 }))).toBe(messageId(dueNotice()));
    expect(messageId(dueNotice({ body: '{}' }))).not.toBe(messageId(dueNotice()));
    // A notice that an earlier version sent has the same id when this one sends it again.
    expect(messageId(dueNotice())).toBe('msg_c73d8c68129186bfb482906fc1657d38');
  });

  test.each([
    [302, { location: '/elsewhere' }, { kind: 'failed', why: 'answered 302; redirects are not followed' }],
    [503, { 'retry-after': '7' }, { kind: 'failed', why: 'answered 503', afterMillis: 7_000 }],
    [429, { 'retry-after': '999999' }, { kind: 'failed', why: 'answered 429', afterMillis: 3_600_000 }],
    [404, {}, { kind: 'failed', why: 'answered 404' }],
    [410, {}, { kind: 'refused', why: 'answered 410' }],
    [400, {}, { kind: 'refused', why: 'answered 400' }],
  ])('a signed notice answered with %i', async (code, headers, sent) => {
    const { requests, url, parts } = await receiver(status(code, headers as Record<string, string>));
    expect(await sendSigned(url, async () => 'k', parts)(dueNotice(), never)).toEqual(sent);
    expect(requests).toHaveLength(1);
  });

  test.each([
    ['Fri, 20 Nov 2026 12:10:00 GMT', 600_000],
    ['Friday, 20-Nov-26 12:10:00 GMT', 600_000],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 3_600_000],
    ['1000000000000', 3_600_000],
    ['0', 0],
    ['-5', undefined],
    ['2.5', undefined],
    ['soon', undefined],
    ['7, 900', undefined],
    ['', undefined],
  ])('Retry-After "%s" of a receiver is read against its own Date', async (value, afterMillis) => {
    const headers = { 'retry-after': value, date: 'Fri, 20 Nov 2026 12:00:00 GMT' };
    const { url, parts } = await receiver(status(503, headers));
    expect(await sendSigned(url, async () => 'k', parts)(dueNotice(), never)).toEqual({
      kind: 'failed',
      why: 'answered 503',
      afterMillis,
    });
  });

  test('Retry-After of a receiver that sends no Date is read against our clock', async () => {
    const now = Date.parse('2026-11-20T12:00:00Z');
    const sent = await sentTo(async () => response(503, { 'retry-after': 'Fri, 20 Nov 2026 12:10:00 GMT' }), {
      ...systemClock,
      now: () => now,
    });
    expect(sent).toEqual({ kind: 'failed', why: 'answered 503', afterMillis: 600_000 });
  });

  test.each([
    ['delivered', [200, 204, 299]],
    ['refused', [400, 410, 413, 422]],
    ['failed', [300, 399, 401, 404, 411, 414, 423, 429, 500]],
  ])('a signed notice counts as %s after each of the statuses %j', async (kind, statuses) => {
    for (const one of statuses) {
      const redirects = one < 400 ? '; redirects are not followed' : '';
      expect(await sentTo(async () => response(one))).toEqual(
        kind === 'delivered' ? { kind } : { kind, why: `answered ${one}${redirects}` },
      );
    }
  });

  test('an unreachable receiver is reported by the first code of its error and causes, never by a message', async () => {
    const because = (...codes: readonly unknown[]) =>
      codes.reduceRight<unknown>(
        (cause, code) => Object.assign(new Error('SECRET', { cause }), { code }),
        undefined,
      );
    const whys: string[] = [];
    for (const error of [
      because('ECONNREFUSED'),
      because(undefined, undefined, 'ENOTFOUND'),
      because('https://hooks.example.com/SECRET', 'ECONNRESET'),
      because(7),
      'SECRET',
      because(undefined, 'DEPTH_ZERO_SELF_SIGNED_CERT'),
      because('EMFILE'),
    ]) {
      const sent = await sentTo(async () => {
        throw error;
      });
      whys.push(sent.kind === 'failed' ? sent.why : sent.kind);
    }
    expect(whys).toEqual([
      'could not be reached (ECONNREFUSED)',
      'could not be reached (ENOTFOUND)',
      'could not be reached (ECONNRESET)',
      'could not be reached (no answer)',
      'could not be reached (no answer)',
      expect.stringMatching(
        /^could not be reached: .+ \(DEPTH_ZERO_SELF_SIGNED_CERT\); .*NODE_EXTRA_CA_CERTS/,
      ),
      expect.stringContaining('cannot open more files'),
    ]);
  });

  test('a proxy that fails is named, not the receiver, with what to do about the proxy', async () => {
    const proxy = { hostname: 'proxy.test', port: '3128', isSecure: true, authorization: null };
    const failure = unreachableProxy(proxy, { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    const sent = await sentTo(async () => {
      throw new Error('SECRET', { cause: failure });
    });
    expect(sent).toEqual({
      kind: 'failed',
      why: 'could not be reached: the proxy https://proxy.test:3128 could not be reached: its certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT); if this server is the right one, name a PEM file with its certificate as NODE_EXTRA_CA_CERTS in the environment of rosterd',
    });
  });

  test('a signed notice without a timely response fails this attempt', async () => {
    const { url, parts } = await receiver(() => {});
    const sent = await sendSigned(url, async () => 'k', { ...parts, clock: hasty })(dueNotice(), never);
    expect(sent).toEqual({ kind: 'failed', why: 'no answer within 10 s' });
  });

  test('an unreachable receiver or an unreadable secret is reported without the secret', async () => {
    const { parts } = await receiver(status(200));
    const slack = sendToSlack(async () => 'http://127.0.0.1:1/SECRET', parts);
    expect(await slack(dueNotice(), never)).toEqual({
      kind: 'failed',
      why: expect.stringMatching(/^could not be reached \(\S+\)$/),
    });
    const unreadable = sendToSlack(async () => 'SECRET is no address', parts);
    expect(await unreadable(dueNotice(), never)).toEqual({
      kind: 'failed',
      why: 'its address or secret cannot be read',
    });
  });
});

test('send: Slack gets text without markup', async () => {
  const { requests, url, parts } = await receiver(status(200));
  await sendToSlack(async () => url, parts)(dueNotice(), never);
  expect(JSON.parse(requests[0]?.body ?? '')).toEqual({ text: 'acme: inv_1 &lt;!channel&gt; &amp; more' });
});
