import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openConnectionPool } from '../../src/client/fetch/connection-pool.js';
import { sendToCommand } from '../../src/outbox/send-command.js';
import { messageId, sendSigned, sendToSlack } from '../../src/outbox/send-http.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { tempFolder } from '../store/temp-folder.js';
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
      why: expect.stringMatching(/^could not be reached \(\S+\)$|no answer/),
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

describe('send: a command', () => {
  const parts = { clock: systemClock, env: {} };
  const node = (script: string, ...args: string[]) => [process.execPath, '-e', script, ...args];

  test('a command gets the notice on stdin and its arguments unchanged, without a shell', async () => {
    const file = join(tempFolder(), 'told');
    const script =
      "require('fs').writeFileSync(process.argv[1], require('fs').readFileSync(0) + process.argv[2])";
    const send = sendToCommand(node(script, file, '$(id) *'), parts);
    expect(await send(dueNotice(), never)).toEqual({ kind: 'delivered' });
    expect(readFileSync(file, 'utf8')).toBe(`${dueNotice().body}\n$(id) *`);
  });

  test('a command gets the given environment and no other variable', async () => {
    const file = join(tempFolder(), 'env');
    const script = "require('fs').writeFileSync(process.argv[1], JSON.stringify(Object.keys(process.env)))";
    const env = { GIVEN: 'yes' };
    expect(await sendToCommand(node(script, file), { ...parts, env })(dueNotice(), never)).toEqual({
      kind: 'delivered',
    });
    const names: unknown = JSON.parse(readFileSync(file, 'utf8'));
    expect(names).toContain('GIVEN');
    // A variable that the test itself has.
    expect(names).not.toContain('VITEST');
  });

  test.each([
    ['fails', node('process.exit(3)'), 'ended with code 3'],
    ['does not exist', ['/nowhere/to/be/found'], 'could not be run (ENOENT)'],
    // Node throws this one and a lack of memory, instead of reporting them by an event.
    ['is below a file', [join(process.execPath, 'program')], 'could not be run (ENOTDIR)'],
  ])('a command that %s is retried', async (_, command, why) => {
    expect(await sendToCommand(command, parts)(dueNotice(), never)).toEqual({ kind: 'failed', why });
  });

  test('a command that hangs is killed', async () => {
    const send = sendToCommand(node('setInterval(() => {}, 1000)'), { ...parts, clock: hasty });
    expect(await send(dueNotice(), never)).toEqual({ kind: 'failed', why: 'did not end within 30 s' });
  });

  test('a command that hangs is killed with the processes that it started', async () => {
    const file = join(tempFolder(), 'pid');
    const inner = `require('fs').writeFileSync(process.argv[1], String(process.pid)); setInterval(() => {}, 1000)`;
    const script = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(inner)}, process.argv[1]]); setInterval(() => {}, 1000)`;
    const started = () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);
    // Its time is over once the inner process runs.
    const wait = () => expect.poll(started).toBeGreaterThan(0);
    const send = sendToCommand(node(script, file), {
      ...parts,
      clock: { ...systemClock, wait },
      runMillisMax: 5_000,
    });
    expect(await send(dueNotice(), never)).toEqual({ kind: 'failed', why: 'did not end within 5 s' });
    const lives = () => {
      try {
        return process.kill(started(), 0);
      } catch {
        return false;
      }
    };
    await expect.poll(lives).toBe(false);
  });
});
