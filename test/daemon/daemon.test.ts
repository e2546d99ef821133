import { createHmac } from 'node:crypto';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { freePort } from '../support/free-port.js';
import {
  configFor,
  control,
  freshFolder,
  partsFor,
  readerOf,
  sandboxFor,
  webhookTick,
} from './daemon-fixture.js';

async function following(sandbox: Sandbox) {
  const port = await freePort();
  const registered = await control(sandbox, 'POST', '/webhooks', {
    url: `http://127.0.0.1:${port}/webhooks`,
    events: ['investment.changed'],
  });
  const { secret } = registered as { secret: string };
  const config = configFor(sandbox, { folder: freshFolder(), receiver: { port, secret } });
  const daemon = await startDaemon(partsFor(config));
  await daemon.engine.sync.idle();
  return { config, daemon, secret, url: `http://127.0.0.1:${port}/webhooks` };
}

test('daemon: a change on the platform reaches the table through a signed webhook', async () => {
  const sandbox = await sandboxFor();
  const { config, daemon } = await following(sandbox);
  const reader = readerOf(config);
  const id = reader.prepare("SELECT id FROM investments WHERE source = 'c1' LIMIT 1").pluck().get();
  const arrived = webhookTick(daemon);
  await control(sandbox, 'PATCH', `/investments/${id}`, { amounts: { committed_cents: 777_700 } });
  await arrived;
  expect(reader.prepare('SELECT committed_cents FROM investments WHERE id = ?').pluck().get(id)).toBe(
    777_700,
  );
  await daemon.close();
  expect(reader.prepare('SELECT state, event FROM webhook_inbox').all()).toEqual([
    { state: 'worked', event: 'investment.changed' },
  ]);
});

test('an accepted event whose daemon stopped is worked by the next one', async () => {
  const sandbox = await sandboxFor({ companies: 1 });
  const { config, daemon, url, secret } = await following(sandbox);
  const reader = readerOf(config);
  const id = reader.prepare('SELECT id FROM investments LIMIT 1').pluck().get();
  // The platform sends nothing here; the test's delivery simulates one accepted just before the stop.
  await control(sandbox, 'POST', '/faults', [
    { method: 'POST', path: 'webhook', times: 100, action: { drop: true } },
  ]);
  await control(sandbox, 'POST', '/faults', [
    { method: 'GET', path: '/investments', times: 100, action: { status: 503 } },
  ]);
  await control(sandbox, 'PATCH', `/investments/${id}`, { status: 'executed' });
  const company = sandbox.ready.companies[0];
  const body = JSON.stringify({
    id: 'evt_late',
    event: 'investment.changed',
    created_at: new Date().toISOString(),
    mode: 'test',
    installation: { id: company?.installation, target: null, test: false },
    data: { id, visible: true, company: company?.id, observed_at: new Date(Date.now() - 1).toISOString() },
  });
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
  const headers = { 'content-type': 'application/json', 'Service-Signature': `t=${t},v1=${v1}` };
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(202);
  await daemon.close();
  expect(reader.prepare('SELECT state FROM webhook_inbox').pluck().all()).toEqual(['pending']);

  await control(sandbox, 'DELETE', '/faults');
  const next = await startDaemon(partsFor(config));
  await next.engine.sync.idle();
  await expect
    .poll(() => reader.prepare('SELECT state FROM webhook_inbox').pluck().all())
    .toEqual(['worked']);
  expect(reader.prepare('SELECT status FROM investments WHERE id = ?').pluck().get(id)).toBe('executed');
  await next.close();
});

test('daemon: a port in use fails with a message that names the option, and nothing stays open', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 5 });
  const taken = createServer();
  const port = await new Promise<number>((resolve) => {
    taken.listen(0, '127.0.0.1', () => {
      const address = taken.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  const config = configFor(sandbox, { folder: freshFolder(), receiver: { port, secret: 'whsec_test' } });
  await expect(startDaemon(partsFor(config))).rejects.toMatchObject({
    code: 'usage',
    message: `receiver.listen: 127.0.0.1:${port} is in use by another program`,
  });
  await new Promise((resolve) => taken.close(resolve));
});
