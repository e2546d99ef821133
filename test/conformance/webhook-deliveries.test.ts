import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../platform/webhooks/receiver.js';
import {
  createEndpoint,
  type DeliveryRow,
  day,
  hour,
  minute,
  startWebhookPlatform,
  type WebhookPlatform,
  worldStart,
} from '../platform/webhooks/webhook-platform.js';
import { manualClock } from '../support/manual-clock.js';

let world: WebhookPlatform;
let receiver: Receiver;
let owner: string;
let company: number;
beforeEach(async () => {
  receiver = await startReceiver();
  world = await startWebhookPlatform();
  owner = world.userToken(world.person('owner', 'owner'));
  company = world.company('Acme');
});
afterEach(async () => {
  await world.close();
  await receiver.close();
});

const install = (on = company) => world.install({ on: 'company', targetNo: on });
const change = () => world.emit({ name: 'investment.changed', companyNo: company });
const deliveries = () => world.rows<DeliveryRow>('SELECT * FROM webhook_deliveries ORDER BY no');
const endpoint = async (id: string) =>
  (await world.send('GET', `/webhook_endpoints/${id}`, owner)).body.data.attributes;

/** Advances the clock to each next attempt until nothing is pending, up to the three days. */
async function runOut(): Promise<void> {
  for (let turns = 0; turns < 100; turns++) {
    await world.quiet();
    const [next] = world.rows<{ at: number | null }>(
      `SELECT min(next_at) AS at FROM webhook_deliveries WHERE state = 'pending'`,
    );
    if (next === undefined || next.at === null) return;
    world.clock.advance(next.at - world.clock.now());
  }
  throw new Error('deliveries never end');
}

describe('sending deliveries', () => {
  test('DELIV-01 an event reaches the endpoint as an HTTP POST, and only a 2xx counts as delivered', async () => {
    install();
    await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    for (const status of [200, 204, 299]) {
      receiver.answer(status);
      change();
      await world.quiet();
    }
    expect(deliveries().map((it) => it.state)).toEqual(['delivered', 'delivered', 'delivered']);
    expect(receiver.received[0]).toMatchObject({ method: 'POST', path: '/hook' });
    expect(receiver.received[0]?.headers['content-type']).toBe('application/json');
    for (const status of [302, 304, 400, 404, 410, 500, 503]) {
      receiver.answer(status);
      change();
      await world.quiet();
      expect([status, deliveries().at(-1)?.state]).toEqual([status, 'pending']);
    }
  });

  test('DELIV-04 DELIV-05 DELIV-06 the envelope has its documented keys, its exact bytes are stored, and no test marker is set', async () => {
    const { id } = install();
    await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    world.emit({
      name: 'investment.changed',
      companyNo: company,
      at: worldStart - 5,
      dataFor: () => ({ id: 'inv_1', visible: false, note: 'é\u2028' }),
    });
    await receiver.count(1);
    const [target] = world.rows<{ id: string }>('SELECT id FROM companies WHERE no = ?', company);
    const got = receiver.received[0];
    expect(got?.envelope).toEqual({
      id: expect.stringMatching(/^evt_(?!test_)/),
      event: 'investment.changed',
      created_at: '2026-11-02T08:59:59.995Z',
      mode: 'live',
      installation: { id, target: { type: 'company', id: target?.id, name: 'Acme' }, test: false },
      data: { id: 'inv_1', visible: false, note: 'é\u2028' },
    });
    expect(Object.keys(got?.envelope)).toEqual(['id', 'event', 'created_at', 'mode', 'installation', 'data']);
    expect(got?.body).toBe(deliveries()[0]?.body);
  });

  test('CONV-10 the id of a real event starts with evt_, and not with evt_test_ in the sandbox realm either', async () => {
    const sandboxed = world.company('Sandboxed', 'test');
    world.install({ on: 'company', targetNo: sandboxed, realm: 'test' });
    install();
    await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    await createEndpoint(world, owner, receiver.url, ['investment.changed'], { mode: 'test' });
    world.emit({ name: 'investment.changed', companyNo: company });
    world.emit({ name: 'investment.changed', companyNo: sandboxed, realm: 'test' });
    for (const { envelope } of await receiver.count(2))
      expect(envelope.id).toMatch(/^evt_(?!test_)[A-Za-z0-9]+$/);
    expect(receiver.received.map(({ envelope }) => envelope.mode).sort()).toEqual(['live', 'test']);
  });

  test('DELIV-02 DELIV-03 each attempt signs the raw body with one v1 signature at the current time', async () => {
    const wall = manualClock(Date.parse('2031-01-01T00:00:00Z'));
    const sandbox = await startWebhookPlatform({ wall });
    const token = sandbox.userToken(sandbox.person('owner', 'owner'));
    const on = sandbox.company('Acme');
    sandbox.install({ on: 'company', targetNo: on });
    const { secret } = await createEndpoint(sandbox, token, receiver.url, ['investment.changed']);
    receiver.answer(500);
    sandbox.emit({ name: 'investment.changed', companyNo: on });
    await receiver.count(1);
    await sandbox.quiet();
    wall.advance(90_500);
    sandbox.clock.advance(minute);
    const [first, second] = await receiver.count(2);
    const signed = (t: number) => createHmac('sha256', secret).update(`${t}.${first?.body}`).digest('hex');
    const t = wall.now() / 1000;
    expect(first?.headers['service-signature']).toBe(`t=${t - 90.5},v1=${signed(t - 90.5)}`);
    expect(second?.headers['service-signature']).toBe(`t=${Math.floor(t)},v1=${signed(Math.floor(t))}`);
    expect(second?.body).toBe(first?.body);
    await sandbox.close();
  });

  test('DELIV-02 a setting chooses the header prefix', async () => {
    const other = await startWebhookPlatform({
      options: {
        headers: {
          version: 'Acme-Version',
          versionLatest: 'Acme-Version-Latest',
          signature: 'Acme-Signature',
          requestId: 'X-Acme-Id',
        },
      },
    });
    const token = other.userToken(other.person('owner', 'owner'));
    const on = other.company('Acme');
    other.install({ on: 'company', targetNo: on });
    await createEndpoint(other, token, receiver.url, ['investment.changed']);
    other.emit({ name: 'investment.changed', companyNo: on });
    await receiver.count(1);
    expect(receiver.received[0]?.headers).toHaveProperty('acme-signature');
    expect(receiver.received[0]?.headers).not.toHaveProperty('service-signature');
    await other.close();
  });

  test('DELIV-02 WHE-13 a delivery has two signatures for 24 hours after a rotation, to the millisecond, then one', async () => {
    install();
    const { id, secret: old } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    const rotated = await world.send('POST', `/webhook_endpoints/${id}/rotate_secret`, owner);
    const current = rotated.body.data.attributes.secret;
    const secretsAt = async (after: number) => {
      world.clock.advance(worldStart + after - world.clock.now());
      change();
      await world.quiet();
      const got = receiver.received.at(-1);
      const [t, ...values] = String(got?.headers['service-signature']).split(',');
      const of = (secret: string) =>
        `v1=${createHmac('sha256', secret)
          .update(`${t?.slice(2)}.${got?.body}`)
          .digest('hex')}`;
      return values.map((value) =>
        value === of(current) ? 'current' : value === of(old) ? 'old' : 'unknown',
      );
    };
    expect(await secretsAt(0)).toEqual(['current', 'old']);
    expect(await secretsAt(day - 1)).toEqual(['current', 'old']);
    expect(await secretsAt(day)).toEqual(['current']);
    expect(await secretsAt(day + 1)).toEqual(['current']);
  });
});

describe('recipients of a delivery', () => {
  test('DELIV-10 an app-wide endpoint gets one delivery per matching installation, with the installation in it', async () => {
    const first = install();
    const user = world.person('founder');
    world.rows(
      `INSERT INTO company_members (company_no, user_no, tier) VALUES (?, ?, 'founder') RETURNING 1`,
      company,
      user,
    );
    const connected = world.install({ on: 'user', targetNo: user });
    install(world.company('Elsewhere'));
    await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    change();
    await world.quiet();
    const envelopes = receiver.received.map((it) => it.envelope);
    expect(envelopes.map((it) => it.installation.id).sort()).toEqual([first.id, connected.id].sort());
    expect(new Set(envelopes.map((it) => it.id)).size).toBe(1);
  });

  test('DELIV-11 with the switch off an app-wide endpoint gets one delivery per event', async () => {
    const single = await startWebhookPlatform({ options: { deliverPerInstallation: false } });
    const token = single.userToken(single.person('owner', 'owner'));
    const on = single.company('Acme');
    const first = single.install({ on: 'company', targetNo: on });
    const user = single.person('founder');
    single.rows(
      `INSERT INTO company_members (company_no, user_no, tier) VALUES (?, ?, 'founder') RETURNING 1`,
      on,
      user,
    );
    const connected = single.install({ on: 'user', targetNo: user });
    await createEndpoint(single, token, receiver.url, ['investment.changed']);
    single.emit({ name: 'investment.changed', companyNo: on });
    await single.quiet();
    expect(receiver.received.map((it) => it.envelope.installation.id)).toEqual([first.id]);
    single.emit({ name: 'investment.changed', companyNo: on, installationNo: connected.no });
    await single.quiet();
    expect(receiver.received.map((it) => it.envelope.installation.id)).toEqual([first.id, connected.id]);
    await single.close();
  });

  test('DELIV-12 a bound endpoint gets only the events of its own installation', async () => {
    const mine = install();
    const elsewhere = world.company('Elsewhere');
    install(elsewhere);
    await createEndpoint(world, mine.token, receiver.url, ['investment.changed', 'installation.revoked']);
    world.emit({ name: 'investment.changed', companyNo: elsewhere });
    world.emit({ name: 'installation.revoked', installationNo: mine.no });
    change();
    await world.quiet();
    expect(receiver.received.map((it) => [it.envelope.event, it.envelope.installation.id])).toEqual([
      ['investment.changed', mine.id],
    ]);
  });

  test('DELIV-13 WHE-14 a disabled endpoint gets no deliveries, and reenabling it replays none', async () => {
    install();
    const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    world.rows('UPDATE webhook_endpoints SET enabled = 0 RETURNING 1');
    change();
    expect(deliveries()).toEqual([]);
    await world.send('POST', `/webhook_endpoints/${id}/reenable`, owner);
    await world.quiet();
    expect(receiver.received).toEqual([]);
    change();
    await world.quiet();
    expect(receiver.received).toHaveLength(1);
  });

  test('a rolled-back transaction creates no delivery', async () => {
    install();
    await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    expect(() =>
      world.services.state.transaction(() => {
        change();
        throw new Error('no');
      })(),
    ).toThrow('no');
    await world.quiet();
    expect(deliveries()).toEqual([]);
    expect(receiver.received).toEqual([]);
  });
});

describe('failing deliveries', () => {
  test('DELIV-14 DELIV-16 a failing delivery is retried on the schedule for exactly 72 hours, then dead-lettered', async () => {
    install();
    const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    receiver.answer(503);
    change();
    await runOut();
    const [dead] = deliveries();
    expect(dead?.state).toBe('dead');
    const times = world
      .rows<{ at: number; status: number }>('SELECT at, status FROM webhook_attempts ORDER BY no')
      .map((it) => it.at - worldStart);
    expect(times.at(0)).toBe(0);
    expect(times.at(-1)).toBe(72 * hour);
    const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    const planned = [5_000, minute, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 12 * hour];
    waits.slice(0, -1).forEach((wait, index) => {
      const plan = planned[Math.min(index, planned.length - 1)] ?? 0;
      expect(wait).toBeGreaterThanOrEqual(plan * 0.8 - 1);
      expect(wait).toBeLessThanOrEqual(plan * 1.2 + 1);
    });
    expect(receiver.received).toHaveLength(times.length);
    expect(new Set(receiver.received.map((it) => it.envelope.id)).size).toBe(1);
    expect((await endpoint(id)).last_delivery_status).toBe('503');
  });

  test('WHE-04 the health of an endpoint reports when it began to fail, its last attempt and the result', async () => {
    install();
    const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    receiver.answer(500);
    change();
    await world.quiet();
    expect(await endpoint(id)).toMatchObject({
      failing_since: '2026-11-02T09:00:00.000Z',
      last_delivery_at: '2026-11-02T09:00:00.000Z',
      last_delivery_status: '500',
    });
    world.clock.advance(minute);
    await receiver.count(2);
    await world.quiet();
    expect(await endpoint(id)).toMatchObject({
      failing_since: '2026-11-02T09:00:00.000Z',
      last_delivery_at: '2026-11-02T09:01:00.000Z',
    });
    receiver.answer(200);
    world.clock.advance(hour);
    await receiver.count(3);
    await world.quiet();
    expect(await endpoint(id)).toMatchObject({ failing_since: null, last_delivery_status: '200' });
  });

  test('SEC-08 a delivery whose address resolves to a blocked one is recorded as blocked_url and not sent', async () => {
    let inward = false;
    const turned = await startWebhookPlatform({
      resolve: async () => [
        inward ? { address: '127.0.0.1', family: 4 } : { address: '93.184.216.34', family: 4 },
      ],
    });
    const token = turned.userToken(turned.person('owner', 'owner'));
    const on = turned.company('Acme');
    turned.install({ on: 'company', targetNo: on });
    const port = new URL(receiver.url).port;
    const { id } = await createEndpoint(turned, token, `https://hooks.example.com:${port}/`, [
      'investment.changed',
    ]);
    inward = true;
    turned.emit({ name: 'investment.changed', companyNo: on });
    await turned.quiet();
    const shown = await turned.send('GET', `/webhook_endpoints/${id}`, token);
    expect(shown.body.data.attributes.last_delivery_status).toBe('blocked_url');
    expect(turned.rows('SELECT status, error FROM webhook_attempts')).toEqual([
      { status: null, error: 'blocked_url' },
    ]);
    expect(receiver.received).toEqual([]);
    await turned.close();
  });

  test('DELIV-17 three days of only failures disable an endpoint, and one success resets the streak', async () => {
    install();
    const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    receiver.answer(500);
    change();
    await world.quiet();
    world.clock.advance(3 * day - 2 * hour);
    await receiver.count(2);
    await world.quiet();
    receiver.answer(200);
    change();
    await world.quiet();
    receiver.answer(500);
    change();
    await world.quiet();
    const restarted = world.clock.now();
    expect((await endpoint(id)).failing_since).toBe(new Date(restarted).toISOString());
    world.clock.advance(3 * day - 1);
    await world.quiet();
    expect((await endpoint(id)).enabled).toBe(true);
    change();
    await world.quiet();
    expect((await endpoint(id)).enabled).toBe(true);
    world.clock.advance(1);
    change();
    await world.quiet();
    expect(await endpoint(id)).toMatchObject({
      enabled: false,
      failing_since: new Date(restarted).toISOString(),
    });
    expect(deliveries().filter((it) => it.state === 'pending')).toEqual([]);
    const sent = receiver.received.length;
    change();
    world.clock.advance(4 * day);
    await world.quiet();
    expect(receiver.received).toHaveLength(sent);
  });

  test('WHE-12 deleting an endpoint cancels pending and dead deliveries and keeps delivered ones', async () => {
    install();
    const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    change();
    await world.quiet();
    receiver.answer(500);
    change();
    change();
    await world.quiet();
    world.rows(
      `UPDATE webhook_deliveries SET state = 'dead', next_at = NULL, settled_at = 1 WHERE no = 2 RETURNING 1`,
    );
    await world.send('DELETE', `/webhook_endpoints/${id}`, owner);
    expect(deliveries().map((it) => it.state)).toEqual(['delivered', 'canceled', 'canceled']);
    const sent = receiver.received.length;
    world.clock.advance(3 * day);
    await world.quiet();
    expect(receiver.received).toHaveLength(sent);
  });

  test('a response that arrives after the endpoint is deleted does not restore the delivery', async () => {
    install();
    const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    let finish = () => {};
    receiver.answer((_, response) => {
      finish = () => response.writeHead(200).end();
    });
    change();
    await receiver.count(1);
    await world.send('DELETE', `/webhook_endpoints/${id}`, owner);
    finish();
    await expect.poll(() => world.rows('SELECT status FROM webhook_attempts')).toEqual([{ status: 200 }]);
    expect(deliveries().map((it) => it.state)).toEqual(['canceled']);
  });

  test('revoking an installation cancels its pending deliveries, but the application still gets the revocation event', async () => {
    const gone = install();
    await createEndpoint(world, owner, receiver.url, ['investment.changed', 'installation.revoked']);
    receiver.answer(500);
    change();
    await world.quiet();
    receiver.answer(200);
    world.emit({ name: 'installation.revoked', installationNo: gone.no });
    await world.quiet();
    expect(deliveries().map((it) => it.state)).toEqual(['canceled', 'delivered']);
  });
});

describe('resending deliveries', () => {
  const resend = (id: string | undefined) => world.control('POST', `/deliveries/${id}/resend`);

  test('DELIV-14 DELIV-16 a resend restarts the 72 hours and the schedule, with the same id and bytes', async () => {
    install();
    const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    receiver.answer(500);
    change();
    await runOut();
    await world.send('POST', `/webhook_endpoints/${id}/reenable`, owner);
    const [dead] = deliveries();
    const before = receiver.received.length;
    const resentAt = world.clock.now();
    expect((await resend(dead?.id)).status).toBe(200);
    await receiver.count(before + 1);
    await world.quiet();
    expect(deliveries()[0]).toMatchObject({ state: 'pending', failures: 1 });
    expect(receiver.received.at(-1)?.body).toBe(receiver.received[0]?.body);
    world.rows('UPDATE webhook_endpoints SET failing_since = NULL RETURNING 1');
    await runOut();
    const [last] = world.rows<{ at: number }>('SELECT max(at) AS at FROM webhook_attempts');
    expect(last?.at).toBe(resentAt + 72 * hour);
    expect(deliveries()[0]?.state).toBe('dead');
  });

  test('a delivered delivery can be resent', async () => {
    install();
    await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    change();
    await world.quiet();
    await resend(deliveries()[0]?.id);
    await receiver.count(2);
    await world.quiet();
    expect(deliveries()[0]?.state).toBe('delivered');
  });

  test('DELIV-15 a canceled delivery cannot be resent, nor one of a disabled endpoint', async () => {
    install();
    const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    receiver.answer(500);
    change();
    await world.quiet();
    const delivery = deliveries()[0]?.id;
    world.rows('UPDATE webhook_endpoints SET enabled = 0 RETURNING 1');
    expect((await resend(delivery)).status).toBe(409);
    await world.send('DELETE', `/webhook_endpoints/${id}`, owner);
    const answered = await resend(delivery);
    expect([answered.status, answered.body.error.type]).toEqual([409, 'conflict']);
    expect(deliveries()[0]?.state).toBe('canceled');
    expect((await resend('dlv_nothing')).status).toBe(404);
  });

  test.each(['0', '-1', '1.5', 'all', '', '1e21'])(
    'the portal refuses to list %j deliveries',
    async (limit) => {
      const answered = await world.control('GET', `/deliveries?limit=${limit}`);
      expect([answered.status, answered.body.error.details]).toEqual([400, { parameter: 'limit' }]);
    },
  );

  test('the portal lists deliveries with every attempt, its status, time, duration and the first bytes of the response', async () => {
    const { id: installation } = install();
    const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
    receiver.answer((_, response) => response.writeHead(500).end('x'.repeat(10_000)));
    change();
    await world.quiet();
    const listed = await world.control('GET', `/deliveries?endpoint=${id}`);
    expect(listed.body.data).toEqual([
      {
        id: expect.stringMatching(/^dlv_/),
        endpoint: id,
        installation,
        event_id: receiver.received[0]?.envelope.id,
        event: 'investment.changed',
        state: 'pending',
        created_at: '2026-11-02T09:00:00.000Z',
        next_attempt_at: expect.any(String),
        attempts: [
          {
            at: '2026-11-02T09:00:00.000Z',
            status: 500,
            error: null,
            duration_ms: expect.any(Number),
            response: 'x'.repeat(4096),
          },
        ],
      },
    ]);
  });
});

describe('deliveries across a restart', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rosterd-hooks-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('a delivery interrupted by a crash is sent again after the restart, with the same id', async () => {
    const dataFile = join(folder, 'platform.db');
    const first = await startWebhookPlatform({ dataFile });
    const token = first.userToken(first.person('owner', 'owner'));
    const on = first.company('Acme');
    first.install({ on: 'company', targetNo: on });
    await createEndpoint(first, token, receiver.url, ['investment.changed']);
    receiver.answer(() => {});
    first.emit({ name: 'investment.changed', companyNo: on });
    await receiver.count(1);
    await first.close();
    receiver.answer(200);
    const second = await startWebhookPlatform({ dataFile });
    const [cut, again] = await receiver.count(2);
    await second.quiet();
    expect(again?.body).toBe(cut?.body);
    expect(second.rows('SELECT state FROM webhook_deliveries')).toEqual([{ state: 'delivered' }]);
    expect(second.rows('SELECT 1 FROM webhook_attempts')).toHaveLength(1);
    await second.close();
  });

  test('the platform sends overdue deliveries at the start and later ones at their time', async () => {
    const dataFile = join(folder, 'platform.db');
    const clock = manualClock(worldStart);
    const first = await startWebhookPlatform({ dataFile, clock });
    const token = first.userToken(first.person('owner', 'owner'));
    const on = first.company('Acme');
    first.install({ on: 'company', targetNo: on });
    await createEndpoint(first, token, receiver.url, ['investment.changed']);
    receiver.answer(500);
    first.emit({ name: 'investment.changed', companyNo: on });
    await first.quiet();
    await first.close();
    const waiting = await startWebhookPlatform({ dataFile, clock });
    await waiting.quiet();
    expect(receiver.received).toHaveLength(1);
    await waiting.close();
    clock.advance(minute);
    const late = await startWebhookPlatform({ dataFile, clock });
    await receiver.count(2);
    await late.close();
    expect(clock.waiting).toBe(0);
  });
});

test('WHE-13 every rotated secret stays valid for 24 hours, and repeated rotation adds at most five signatures to the header', async () => {
  install();
  const { id } = await createEndpoint(world, owner, receiver.url, ['investment.changed']);
  const valuesAfter = async (rotations: number) => {
    for (let done = 0; done < rotations; done++) {
      await world.send('POST', `/webhook_endpoints/${id}/rotate_secret`, owner);
    }
    change();
    await world.quiet();
    return String(receiver.received.at(-1)?.headers['service-signature']).split('v1=').length - 1;
  };
  expect(await valuesAfter(2)).toBe(3);
  expect(await valuesAfter(5)).toBe(5);
  world.clock.advance(day);
  expect(await valuesAfter(0)).toBe(1);
});
