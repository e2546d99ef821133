import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { company, type RunningPlatform, startPlatform, user } from '../conformance/running-platform.js';
import { type Receiver, startReceiver } from '../platform/webhooks/receiver.js';
import { desk } from './connect-session.js';
import { rosterd } from './fake-io.js';

let world: RunningPlatform;
let receiver: Receiver;
beforeAll(async () => {
  world = await startPlatform({ clock: systemClock });
});
afterAll(() => world.close());
beforeEach(async () => {
  receiver = await startReceiver();
  await world.control('POST', '/reset');
});
afterEach(() => receiver.close());

/** Runs `endpoints …` with a configuration for the platform at `url`. */
async function endpoints(args: readonly string[], url = world.url) {
  const { write, io } = desk();
  write('manager.token', user(world).liveToken, 0o600);
  const management = { token: { file: 'manager.token' } };
  const sources = [{ name: 'acme', token: company(world).token }];
  write('config.json', JSON.stringify({ platform: { baseUrl: url, management }, sources }));
  return rosterd(['endpoints', ...args], io());
}

/** Registers the receiver and delivers one event, which it answers with `status`. */
async function delivered(status: number, more: object = {}) {
  receiver.answer(status);
  const before = receiver.received.length;
  const hook = { url: receiver.url, events: ['investment.created'], ...more };
  const { id } = (await world.control('POST', '/webhooks', hook)).body;
  await world.control('POST', '/investments', { company: company(world).id });
  await receiver.count(before + 1);
  for (let tries = 0; tries < 500; tries += 1) {
    await systemClock.wait(5);
    const [delivery] = (await world.control('GET', `/deliveries?endpoint=${id}`)).body.data;
    if (delivery?.attempts.length > 0)
      return { endpoint: id, delivery: delivery.id, event: delivery.event_id };
  }
  throw new Error('the sandbox recorded no attempt');
}

/** A platform without a control API, as a real one: everything below /_sandbox is unknown. */
async function realPlatform(): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.url?.startsWith('/_sandbox')) return response.writeHead(404).end('{}');
    const { authorization = '' } = request.headers;
    const answer = await fetch(`${world.url}${request.url}`, { headers: { authorization } });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('endpoints deliveries lists the deliveries of a sandbox with the last answer, newest first', async () => {
  const first = await delivered(503);
  const second = await delivered(200);
  const { code, out } = await endpoints(['deliveries']);
  expect(code).toBe(0);
  const [head, ...rows] = out.trimEnd().split('\n');
  expect(head).toMatch(/^DELIVERY +CREATED +EVENT +EVENT ID +STATE +ATTEMPTS +LAST ANSWER$/);
  const newest = rows.find((row) => row.startsWith(second.delivery));
  expect(newest).toMatch(new RegExp(`investment\\.created +${second.event} +delivered +1 +200$`));
  expect(rows.at(-1)).toMatch(new RegExp(`^${first.delivery} .* pending +1 +503$`));
});

test('endpoints deliveries --json has every attempt, and neither bodies nor what the receiver answered', async () => {
  const { endpoint, delivery } = await delivered(200);
  const { out } = await endpoints(['deliveries', endpoint, '--json']);
  expect(JSON.parse(out)).toEqual({
    endpoints: null,
    deliveries: [
      {
        id: delivery,
        endpoint,
        installation: company(world).installation,
        event: 'investment.created',
        eventId: expect.stringMatching(/^evt_/),
        state: 'delivered',
        nextAttemptAt: null,
        createdAt: expect.any(String),
        attempts: [{ at: expect.any(String), status: 200, error: null, durationMs: expect.any(Number) }],
      },
    ],
  });
});

test('endpoints deliveries filters by endpoint, source and number', async () => {
  const wide = await delivered(200);
  const bound = await delivered(200, { installation: company(world).installation });
  const ids = async (...args: string[]) =>
    JSON.parse((await endpoints(['deliveries', ...args, '--json'])).out).deliveries.map(
      ({ endpoint }: { endpoint: string }) => endpoint,
    );
  expect(new Set(await ids())).toEqual(new Set([wide.endpoint, bound.endpoint]));
  expect(new Set(await ids(wide.endpoint))).toEqual(new Set([wide.endpoint]));
  expect(new Set(await ids('--source', 'acme'))).toEqual(new Set([bound.endpoint]));
  expect(await ids('--limit', '1')).toHaveLength(1);
  expect((await endpoints(['deliveries', 'whe_none'])).err).toContain(
    `There is no delivery yet in the sandbox at ${world.url}.`,
  );
  expect((await endpoints(['deliveries', '../reset'])).code).toBe(2);
});

test('endpoints deliveries without a control API shows the last delivery of each endpoint', async () => {
  const url = await realPlatform();
  const { endpoint } = await delivered(503);
  const { code, out, err } = await endpoints(['deliveries'], url);
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(new RegExp(`^${endpoint} +failing since .* 503 at `, 'm')),
  ]);
  expect(err).toContain("The platform's API reports only the last delivery of an endpoint");
  const one = JSON.parse((await endpoints(['deliveries', endpoint, '--json'], url)).out);
  expect(one).toEqual({
    deliveries: null,
    endpoints: [
      expect.objectContaining({
        id: endpoint,
        enabled: true,
        lastDeliveryStatus: '503',
        failingSince: expect.any(String),
      }),
    ],
  });
});

test('endpoints resend makes a sandbox resend the same bytes and reports the answer', async () => {
  const { delivery } = await delivered(503);
  const failed = await endpoints(['resend', delivery]);
  expect([failed.code, failed.out]).toEqual([
    1,
    expect.stringMatching(/^investment\.created: not delivered, answered 503 in \d+ ms\n$/),
  ]);
  receiver.answer(200);
  const { code, out } = await endpoints(['resend', delivery, '--json']);
  expect([code, JSON.parse(out)]).toEqual([
    0,
    expect.objectContaining({ id: delivery, state: 'delivered', delivered: true }),
  ]);
  expect(JSON.parse(out).attempts).toHaveLength(3);
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
});

test('endpoints resend of an unknown or canceled delivery fails with the next step', async () => {
  const unknown = await endpoints(['resend', 'dlv_none']);
  expect([unknown.code, unknown.err]).toEqual([
    1,
    expect.stringContaining('Try: `rosterd endpoints deliveries`'),
  ]);
  const { delivery, endpoint } = await delivered(503);
  await world.control('DELETE', `/webhooks/${endpoint}`);
  const canceled = await endpoints(['resend', delivery]);
  expect([canceled.code, canceled.err]).toEqual([1, expect.stringContaining('cannot be resent')]);
});

test('endpoints resend without a control API exits 1 with what the platform offers instead', async () => {
  const { code, out, err } = await endpoints(['resend', 'dlv_1'], await realPlatform());
  expect([code, out]).toEqual([1, '']);
  expect(err).toMatch(
    /^error: the platform's API has no operation that resends a delivery\nTry: `rosterd sync`/m,
  );
});
