import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { sqliteFileOf } from '../../src/config/database.js';
import { Secret } from '../../src/config/secrets.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { systemClock } from '../../src/runtime/clock.js';
import { bodyOf } from '../support/body-of.js';
import { openRaw } from '../support/open-raw.js';
import { configFor, control, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

interface Told {
  readonly type: string;
  readonly alert: string;
  readonly source: string | null;
  readonly text: string;
}

const key = 'a-secret-for-signing-alerts';

/** A receiver that checks signatures and keeps the messages. */
async function openSink() {
  const told: Told[] = [];
  const server: Server = createServer(async (request, response) => {
    const text = await bodyOf(request);
    if (text === null) return;
    const headers = request.headers as Record<string, string>;
    const webhook = new Webhook(Buffer.from(key), { format: 'raw' });
    // The clock of the daemon is set forward for the second message, further than signatures may differ.
    if (told.length === 0) webhook.verify(text, headers);
    told.push(JSON.parse(text) as Told);
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { told, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts` };
}

test('a halted source is reported once to the receiver of alerts, across restarts, and so is its recovery', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 20 });
  const { told, url } = await openSink();
  const folder = freshFolder();
  const secret = new Secret('notices[0].secret', key as never, { env: {}, folder });
  const config = {
    ...configFor(sandbox, { folder }),
    notices: [
      { kind: 'http', name: 'ops', about: ['alerts'], url, secret, rules: {} },
      { kind: 'http', name: 'deals', about: ['changes'], url: `${url}/changes`, secret, rules: {} },
    ] as const,
  };
  let offset = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + offset };
  const start = async () => {
    const daemon = await startDaemon({ ...partsFor(config), clock });
    onTestFinished(() => daemon.close());
    await daemon.engine.sync.idle();
    return daemon;
  };
  const first = await start();
  await control(sandbox, 'POST', '/faults', [
    { method: 'GET', path: '/investments', times: 1_000, action: { status: 401 } },
  ]);
  const name = config.sources[0]?.name ?? ('' as never);
  await first.engine.sync.tick(name);
  await expect.poll(() => told.length).toBe(1);
  expect(told[0]).toMatchObject({ type: 'alert.raised', alert: 'halted', source: 'c0' });
  expect(told[0]?.text).toMatch(/^c0: waits for a person: /);
  const raw = openRaw(sqliteFileOf(config.database), { readonly: true });
  onTestFinished(() => void raw.close());
  // The daemon stores the delivery after the receiver has answered. What it has not stored, the next one sends again.
  const states = () => raw.prepare('SELECT target, state FROM alert_rows ORDER BY notice').raw().all();
  await expect.poll(states).toEqual([['ops', 'delivered']]);
  await first.engine.sync.tick(name);
  await first.close();

  const second = await start();
  await second.engine.sync.tick(name);
  await control(sandbox, 'DELETE', '/faults');
  await second.engine.sync.tick(name);
  const goneSince = () => raw.prepare('SELECT gone_since FROM open_alerts').pluck().get();
  await expect.poll(goneSince).not.toBe(null);
  expect(told).toHaveLength(1);
  offset = 6 * 60_000;
  await second.engine.sync.tick(name);
  await expect.poll(() => told.length).toBe(2);
  expect(told[1]).toMatchObject({ type: 'alert.resolved', alert: 'halted', source: 'c0' });
  expect(raw.prepare('SELECT count(*) FROM open_alerts').pluck().get()).toBe(0);
  await expect.poll(states).toEqual([
    ['ops', 'delivered'],
    ['ops', 'delivered'],
  ]);
  await second.close();
});
