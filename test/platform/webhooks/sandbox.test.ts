import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  company,
  type RunningPlatform,
  startPlatform,
  user,
  worldStart,
} from '../../conformance/running-platform.js';
import { manualClock } from '../../support/manual-clock.js';
import { type Receiver, startReceiver } from './receiver.js';

let world: RunningPlatform;
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
  world = await startPlatform({ clock: manualClock(worldStart + 500) });
});
afterEach(async () => {
  await world.close();
  await receiver.close();
});

const hook = async (more: object = {}): Promise<{ id: string; secret: string }> => {
  const made = await world.control('POST', '/webhooks', { url: receiver.url, ...more });
  expect([made.status, Object.keys(made.body).sort()]).toEqual([201, ['id', 'secret']]);
  return made.body;
};
const invest = (index = 0) => world.control('POST', '/investments', { company: company(world, index).id });
const states = async () =>
  (await world.control('GET', '/deliveries')).body.data.map((it: { state: string }) => it.state);
const advance = (seconds: number) => world.control('POST', '/clock', { advanceSeconds: seconds });

test('EVT-03 a change in the sandbox arrives signed, in test mode, with its installation', async () => {
  const { secret } = await hook({ events: ['investment.changed'] });
  const { ids } = (await invest()).body;
  const [got] = await receiver.count(1);
  expect(got?.envelope).toMatchObject({
    event: 'investment.changed',
    mode: 'test',
    installation: { id: company(world).installation, target: { id: company(world).id }, test: false },
    data: { id: ids[0], visible: true, company: company(world).id },
  });
  const t = worldStart / 1000;
  const digest = createHmac('sha256', secret).update(`${t}.${got?.body}`).digest('hex');
  expect(got?.headers['service-signature']).toBe(`t=${t},v1=${digest}`);
});

test('sandbox: a bound endpoint receives events of one company, an app-wide one of both; the default is every event', async () => {
  await hook();
  await hook({ url: `${receiver.url}/bound`, installation: company(world, 1).installation });
  await invest(0);
  await invest(1);
  // Each investment emits created and changed; the bound endpoint receives only those of the second company.
  await receiver.count(6);
  const bound = receiver.received.filter((it) => it.path.endsWith('/bound'));
  expect(bound.map((it) => it.envelope.event).sort()).toEqual(['investment.changed', 'investment.created']);
  expect(new Set(bound.map((it) => it.envelope.installation.id))).toEqual(
    new Set([company(world, 1).installation]),
  );
  const again = await world.control('POST', '/webhooks', {
    url: `${receiver.url}/bound`,
    installation: company(world, 1).installation,
  });
  expect(again.status).toBe(409);
});

test('sandbox: moving the clock triggers retries but does not change the time in signatures', async () => {
  await hook({ events: ['investment.changed'] });
  receiver.answer(500);
  await invest();
  await receiver.count(1);
  receiver.answer(200);
  await expect
    .poll(async () => (await world.control('GET', '/deliveries')).body.data[0].attempts.length)
    .toBe(1);
  await advance(3600);
  const [first, second] = await receiver.count(2);
  expect(second?.body).toBe(first?.body);
  expect(second?.headers['service-signature']).toBe(first?.headers['service-signature']);
  await expect.poll(states).toEqual(['delivered']);
});

test('sandbox: faults with the path "webhook" apply to deliveries', async () => {
  await hook({ events: ['investment.changed'] });
  await world.control('POST', '/faults', [{ path: 'webhook', times: 1, action: { lose: true } }]);
  await invest();
  await expect.poll(states).toEqual(['delivered']);
  expect(receiver.received).toHaveLength(0);
  await invest();
  await receiver.count(1);
});

test('sandbox: a resend by control call delivers again', async () => {
  await hook({ events: ['investment.changed'] });
  await invest();
  await expect.poll(states).toEqual(['delivered']);
  const [{ id }] = (await world.control('GET', '/deliveries')).body.data;
  const resent = await world.control('POST', `/deliveries/${id}/resend`);
  expect([resent.status, resent.body]).toEqual([200, { id, state: 'pending' }]);
  const [first, second] = await receiver.count(2);
  expect(second?.body).toBe(first?.body);
});

test('sandbox: a reset discards a delivery in flight', async () => {
  await hook({ events: ['investment.changed'] });
  let finish = () => {};
  receiver.answer((_, response) => {
    finish = () => response.writeHead(200).end();
  });
  await invest();
  await receiver.count(1);
  await world.control('POST', '/reset');
  finish();
  receiver.answer(200);
  await hook({ events: ['investment.changed'] });
  await invest();
  await receiver.count(2);
  await expect.poll(states).toEqual(['delivered']);
  expect((await world.control('GET', '/deliveries')).body.data[0].attempts).toHaveLength(1);
});

test('sandbox: webhook URLs may be loopback over plain HTTP, but no other private address', async () => {
  for (const url of [
    'http://10.0.0.1/',
    'http://169.254.169.254/',
    'https://192.168.0.1/',
    'http://example.com/',
  ]) {
    expect((await world.control('POST', '/webhooks', { url })).status).toBe(422);
  }
  expect((await world.control('POST', '/webhooks', { url: receiver.url, events: ['nothing'] })).status).toBe(
    400,
  );
  const unknown = await world.control('POST', '/webhooks', { url: receiver.url, installation: 'inst_no' });
  expect(unknown.status).toBe(404);
});

test('WHE-20 an endpoint created on the live API with mode test is visible in the sandbox and receives its events', async () => {
  const made = await world.post('/webhook_endpoints', {
    token: user(world).liveToken,
    body: { url: receiver.url, events: ['investment.changed'], mode: 'test' },
  });
  expect(made.status).toBe(201);
  const seen = await world.get('/webhook_endpoints', { token: user(world).token });
  expect(seen.body.data.map((it: { id: string }) => it.id)).toEqual([made.body.data.id]);
  await invest();
  await receiver.count(1);
});

describe('a sandbox without allowLoopbackWebhooks', () => {
  let strict: RunningPlatform;
  beforeEach(async () => {
    strict = await startPlatform({ clock: manualClock(worldStart + 500), allowLoopbackWebhooks: false });
  });
  afterEach(() => strict.close());

  test('SEC-07 the API refuses loopback addresses in every spelling, as the platform does', async () => {
    const { port } = new URL(receiver.url);
    const create = (host: string) =>
      strict.post('/webhook_endpoints', {
        token: user(strict).liveToken,
        body: { url: `http://${host}:${port}/hook`, events: ['investment.changed'], mode: 'test' },
      });
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1']) {
      const { status, body } = await create(host);
      expect([host, status, body.error.details.errors[0].field]).toEqual([host, 422, 'url']);
    }
    const open = await world.post('/webhook_endpoints', {
      token: user(world).liveToken,
      body: { url: receiver.url, events: ['investment.changed'], mode: 'test' },
    });
    expect(open.status).toBe(201);
  });

  test('the control call accepts a loopback address, and its deliveries arrive', async () => {
    const wanted = { url: receiver.url, events: ['investment.changed'] };
    expect((await strict.control('POST', '/webhooks', wanted)).status).toBe(201);
    await strict.control('POST', '/investments', { company: company(strict).id });
    expect((await receiver.count(1))[0]?.envelope.event).toBe('investment.changed');
  });

  test('an endpoint on loopback cannot be moved to another loopback address by the API', async () => {
    const { id } = (await strict.control('POST', '/webhooks', { url: receiver.url })).body;
    const token = user(strict).liveToken;
    const moved = await strict.patch(`/webhook_endpoints/${id}`, {
      token,
      body: { url: `${receiver.url}/b` },
    });
    expect(moved.status).toBe(422);
    const kept = await strict.patch(`/webhook_endpoints/${id}`, {
      token,
      body: { events: ['investment.created'] },
    });
    expect([kept.status, kept.body.data.attributes.url]).toEqual([200, receiver.url]);
  });
});

test('the control API shows and removes a webhook endpoint, and registers one again with its secret', async () => {
  const { id, secret } = await hook({ events: ['investment.changed'] });
  expect((await world.control('GET', `/webhooks/${id}`)).body).toEqual({
    id,
    url: receiver.url,
    mode: 'test',
    enabled: true,
  });
  expect((await world.control('DELETE', `/webhooks/${id}`)).body).toEqual({ id, removed: true });
  for (const method of ['GET', 'DELETE'])
    expect((await world.control(method, `/webhooks/${id}`)).status).toBe(404);
  await invest();
  expect(await states()).toEqual([]);
  expect((await hook({ secret })).secret).toBe(secret);
  const short = await world.control('POST', '/webhooks', { url: receiver.url, secret: 'whsec_short' });
  expect(short.status).toBe(400);
});
