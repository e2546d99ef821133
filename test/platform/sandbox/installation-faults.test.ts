import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RunningPlatform, startNewlySeeded } from '../../conformance/running-platform.js';
import { type Receiver, startReceiver } from '../webhooks/receiver.js';

/* What a client that follows installations has to survive. */

let world: RunningPlatform;
let receiver: Receiver;
beforeEach(async () => {
  world = await startNewlySeeded({ companies: 10, records: 2, installed: 0.6, limits: false });
  receiver = await startReceiver();
  const wanted = {
    url: receiver.url,
    events: ['installation.created', 'installation.revoked', 'investment.changed'],
  };
  await world.control('POST', '/webhooks', wanted);
});
afterEach(async () => {
  await world.close();
  await receiver.close();
});

const manager = () => world.ready.users[0]?.token ?? '';

test('events of installations can be lost while others arrive', async () => {
  await world.control('POST', '/faults', {
    path: 'webhook',
    event: 'installation.*',
    times: 4,
    action: { lose: true },
  });
  await world.control('POST', '/installations', { all: true });
  await world.control('POST', '/investments', { company: world.ready.companies[0]?.id });
  await receiver.count(1);
  expect(receiver.received[0]?.envelope.event).toBe('investment.changed');
});

test('events of installations can come twice', async () => {
  const rule = { path: 'webhook', event: 'installation.created', action: { duplicate: true } };
  await world.control('POST', '/faults', rule);
  await world.control('POST', '/installations', { count: 1 });
  await receiver.count(2);
  expect(receiver.received[0]?.body).toBe(receiver.received[1]?.body);
});

test('an event can be chosen for webhook deliveries only', async () => {
  const rule = { path: '/installations', event: 'installation.created', action: { status: 500 } };
  const answer = await world.control('POST', '/faults', rule);
  expect(answer.status).toBe(400);
});

test('a list can have fewer items than meta.count says', async () => {
  await world.control('POST', '/faults', { path: '/installations', action: { omit: 3 } });
  const { body } = await world.get('/installations', { token: manager() });
  expect([body.data.length, body.meta.count]).toEqual([5, 8]);
  const { body: whole } = await world.get('/installations', { token: manager() });
  expect(body.data).toEqual(whole.data.slice(0, 5));
});

test('a list can lack some installs and look complete', async () => {
  const omit = world.ready.companies.slice(0, 2).map(({ installation }) => installation);
  await world.control('POST', '/faults', { path: '/installations', action: { omit, recount: true } });
  const { body } = await world.get('/installations', { token: manager() });
  expect(body.meta).toMatchObject({ count: 6, page_count: 6 });
  expect(body.data.filter(({ id }: { id: string }) => omit.includes(id))).toEqual([]);
});

test('a list can be cut in the middle of its body', async () => {
  await world.control('POST', '/faults', { path: '/installations', action: { omit: 1, truncate: 900 } });
  await expect(world.get('/installations', { token: manager() })).rejects.toThrow();
});

test('an action that only recounts is refused', async () => {
  const answer = await world.control('POST', '/faults', { path: '/x', action: { recount: true } });
  expect(answer.status).toBe(400);
});
