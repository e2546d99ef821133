import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { DeliveryHazard } from '../../../src/platform/hazards.js';
import { type Receiver, startReceiver } from './receiver.js';
import {
  createEndpoint,
  day,
  hour,
  second,
  startWebhookPlatform,
  type WebhookPlatform,
} from './webhook-platform.js';

let receiver: Receiver;
const open: (() => Promise<void>)[] = [];
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  await receiver.close();
});

/** `struck` are the hazards of the first attempts, in order. Later attempts have none. */
async function started(...struck: DeliveryHazard[]) {
  const world = await startWebhookPlatform({ hazards: { forDelivery: () => struck.shift() ?? null } });
  open.push(() => world.close());
  const owner = world.userToken(world.person('owner', 'owner'));
  const company = world.company('Acme');
  const install = world.install({ on: 'company', targetNo: company });
  let emitted = 0;
  const emit = () => {
    const nth = ++emitted;
    world.emit({ name: 'investment.changed', companyNo: company, dataFor: () => ({ id: `inv_${nth}` }) });
  };
  return { world, owner, company, install, emit };
}

const ids = (of: Receiver) => of.received.map((it) => it.envelope.data.id);

test('delivery loop: a dead endpoint with a backlog does not delay ninety-nine healthy ones', async () => {
  const { world, emit } = await started();
  // It accepts requests and never responds, so both of its slots stay occupied.
  const dead = await startReceiver();
  open.push(() => dead.close());
  dead.answer(() => {});
  insertEndpoints(world, dead.url, 1, 'dead');
  for (let backlog = 0; backlog < 50; backlog++) emit();
  await dead.count(2);
  insertEndpoints(world, receiver.url, 99, 'healthy');
  for (let round = 0; round < 3; round++) emit();
  const got = await receiver.count(99 * 3);
  expect(new Set(got.map((it) => it.path)).size).toBe(99);
  expect(dead.received).toHaveLength(2);
  await expect
    .poll(() => world.rows('SELECT 1 FROM webhook_deliveries WHERE state = ?', 'delivered').length)
    .toBe(99 * 3);
});

test('delivery loop: endpoints take turns, so a backlog of one does not delay the first delivery of another', async () => {
  const { world, emit } = await started();
  insertEndpoints(world, receiver.url, 1, 'long');
  receiver.answer(500);
  for (let backlog = 0; backlog < 100; backlog++) emit();
  await world.quiet();
  const before = receiver.received.length;
  insertEndpoints(world, receiver.url, 1, 'short');
  emit();
  // All failed deliveries are due again at the same time as the first one of the new endpoint.
  world.clock.advance(10 * second);
  await receiver.count(before + 102);
  const order = receiver.received.slice(before).map((it) => it.path);
  expect(order.findIndex((path) => path.includes('short'))).toBeLessThan(10);
});

test('delivery loop: at most two attempts of one endpoint are in flight', async () => {
  const { world, owner, emit } = await started();
  const unanswered: (() => void)[] = [];
  receiver.answer((_, response) => unanswered.push(() => response.writeHead(200).end()));
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  for (let sent = 0; sent < 40; sent++) emit();
  for (let wanted = 2; wanted <= 40; wanted += 2) {
    await receiver.count(wanted);
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect([receiver.received.length, unanswered.length]).toEqual([wanted, 2]);
    for (const answer of unanswered.splice(0)) answer();
  }
  await world.quiet();
  expect(new Set(ids(receiver)).size).toBe(40);
});

test('delivery loop: the first attempt starts right after the commit without a timer', async () => {
  const { world, owner, emit } = await started();
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  world.services.state.transaction(() => {
    emit();
    expect(receiver.received).toHaveLength(0);
  })();
  await receiver.count(1);
  expect(world.clock.waiting).toBe(0);
});

test('delivery loop: an idle loop has no timer, and any number of pending retries has one', async () => {
  const { world, owner, emit } = await started();
  expect(world.clock.waiting).toBe(0);
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  emit();
  await receiver.count(1);
  await world.quiet();
  expect(world.clock.waiting).toBe(0);
  receiver.answer(500);
  for (let sent = 0; sent < 5; sent++) emit();
  await world.quiet();
  expect(world.clock.waiting).toBe(1);
  world.rows(
    `UPDATE webhook_deliveries SET state = 'canceled', next_at = NULL, settled_at = 1 WHERE state = 'pending' RETURNING 1`,
  );
  world.clock.advance(day);
  await expect.poll(() => world.clock.waiting).toBe(0);
});

test('delivery loop: an event for others at the moment a retry becomes due does not put the retry off', async () => {
  const { world, owner, emit, company } = await started();
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  receiver.answer(500);
  emit();
  await receiver.count(1);
  await world.quiet();
  // Nobody subscribes to it, but the loop looks for work, and does so before the timer of the retry.
  world.emit({ name: 'offering.opened', companyNo: company });
  world.clock.advance(hour);
  await receiver.count(2);
});

test('delivery loop: a delivery whose attempt could not be recorded is sent again without another event', async () => {
  const { world, emit } = await started();
  insertEndpoints(world, receiver.url, 1, 'only');
  world.services.state.exec(
    `CREATE TRIGGER full BEFORE INSERT ON webhook_attempts BEGIN SELECT RAISE(FAIL, 'the disk is full'); END`,
  );
  const logged = vi.spyOn(world.services.logger, 'error');
  open.push(async () => logged.mockRestore());
  emit();
  await expect.poll(() => logged.mock.calls.length).toBe(1);
  world.services.state.exec('DROP TRIGGER full');
  const states = () => world.rows<{ state: string }>('SELECT state FROM webhook_deliveries');
  await expect
    .poll(() => {
      world.clock.advance(second);
      return states();
    })
    .toEqual([{ state: 'delivered' }]);
  expect(receiver.received).toHaveLength(2);
});

test('delivery loop: an attempt in flight is recorded when its endpoint is deleted while another delivery is held', async () => {
  const { world, owner, emit } = await started({}, { hold: true });
  const answers: (() => void)[] = [];
  receiver.answer((_, response) => answers.push(() => response.writeHead(200).end()));
  const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  emit();
  await receiver.count(1);
  emit();
  const held = 'SELECT 1 FROM webhook_deliveries WHERE held = 1';
  await expect.poll(() => world.rows(held)).toHaveLength(1);
  expect((await world.send('DELETE', `/webhook_endpoints/${id}`, owner)).status).toBe(200);
  for (const answer of answers) answer();
  await expect.poll(() => world.rows('SELECT status FROM webhook_attempts')).toEqual([{ status: 200 }]);
  expect(world.rows('SELECT state FROM webhook_deliveries')).toEqual([
    { state: 'canceled' },
    { state: 'canceled' },
  ]);
});

test('delivery loop: close aborts attempts in flight and leaves no timer', async () => {
  const { world, owner, emit } = await started();
  receiver.answer(() => {});
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  emit();
  await receiver.count(1);
  await world.close();
  expect(world.clock.waiting).toBe(0);
});

test('delivery loop: moving the clock by three days runs three days of retries at once', async () => {
  const { world, owner, emit } = await started();
  receiver.answer(500);
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  emit();
  await world.quiet();
  for (let moved = 0; moved < 80; moved++) {
    world.clock.advance(hour);
    await world.quiet();
  }
  expect(world.rows('SELECT state FROM webhook_deliveries')).toEqual([{ state: 'dead' }]);
  expect(receiver.received.length).toBeGreaterThan(8);
});

test('hazard lose: the delivery counts as delivered but never arrives', async () => {
  const { world, owner, emit } = await started({ lose: true });
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  emit();
  emit();
  await receiver.count(1);
  await world.quiet();
  expect(ids(receiver)).toEqual(['inv_2']);
  expect(world.rows('SELECT state FROM webhook_deliveries')).toEqual([
    { state: 'delivered' },
    { state: 'delivered' },
  ]);
});

test('hazard delay: the delivery arrives after the delay without a failed attempt', async () => {
  const { world, owner, emit } = await started({ delayMillis: 5000 });
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  emit();
  await world.quiet();
  world.clock.advance(4999);
  await world.quiet();
  expect(receiver.received).toHaveLength(0);
  world.clock.advance(1);
  await receiver.count(1);
  await world.quiet();
  expect(world.rows('SELECT status FROM webhook_attempts')).toEqual([{ status: 200 }]);
});

test('hazard duplicate: the delivery arrives twice with the same id', async () => {
  const { world, owner, emit } = await started({ duplicate: true });
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  emit();
  await receiver.count(2);
  await world.quiet();
  expect(receiver.received[0]?.envelope.id).toBe(receiver.received[1]?.envelope.id);
  emit();
  await receiver.count(3);
});

test('hazard hold: the delivery arrives after the next one of its endpoint, or after a while if none follows', async () => {
  const { world, owner, emit } = await started({ hold: true });
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  emit();
  await world.quiet();
  expect(receiver.received).toHaveLength(0);
  emit();
  await receiver.count(2);
  expect(ids(receiver)).toEqual(['inv_2', 'inv_1']);
});

test('hazard hold: a delivery that no other follows is sent after a while', async () => {
  const { world, owner, emit } = await started({ hold: true });
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  emit();
  await world.quiet();
  expect(receiver.received).toHaveLength(0);
  world.clock.advance(5 * second);
  await receiver.count(1);
});

test('hazards drop and status: the attempts fail and are retried, also combined with a delay', async () => {
  const { world, owner, emit } = await started({ drop: true }, { status: 503, delayMillis: 500 });
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  emit();
  await world.quiet();
  world.clock.advance(10 * second);
  await expect.poll(() => world.clock.waiting).toBe(1);
  expect(world.rows('SELECT error, status FROM webhook_attempts')).toEqual([
    { error: 'connection_failed', status: null },
  ]);
  world.clock.advance(500);
  await world.quiet();
  expect(world.rows('SELECT error, status FROM webhook_attempts')).toEqual([
    { error: 'connection_failed', status: null },
    { error: null, status: 503 },
  ]);
  expect(receiver.received).toHaveLength(0);
  world.clock.advance(2 * 60 * second);
  await receiver.count(1);
});

test('deliveries finished more than thirty days ago are deleted with their attempts', async () => {
  const { world, owner, emit } = await started();
  await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  for (let sent = 0; sent < 5; sent++) emit();
  await world.quiet();
  world.clock.advance(30 * day);
  emit();
  await world.quiet();
  expect(world.rows('SELECT 1 FROM webhook_deliveries')).toHaveLength(6);
  world.clock.advance(1);
  emit();
  await world.quiet();
  expect(world.rows('SELECT 1 FROM webhook_deliveries')).toHaveLength(2);
  expect(world.rows('SELECT 1 FROM webhook_attempts')).toHaveLength(2);
});

/** Inserts rows directly, to exceed the quota. */
function insertEndpoints(world: WebhookPlatform, url: string, count: number, label: string): void {
  for (let nth = 0; nth < count; nth++) {
    const [row] = world.rows<{ no: number }>(
      `INSERT INTO webhook_endpoints (id, application_no, mode, url, created_at) VALUES (?, ?, 'live', ?, 0) RETURNING no`,
      `whe_${label}${nth}`,
      world.app,
      `${url}/${label}${nth}`,
    );
    world.rows(
      `INSERT INTO webhook_subscriptions VALUES ('investment.changed', ?, 0) RETURNING 1`,
      row?.no ?? 0,
    );
  }
}
