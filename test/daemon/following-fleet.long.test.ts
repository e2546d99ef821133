import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { type FreshDatabase, migratedDatabase } from '../postgres/fresh-database.js';
import { keptConnection } from '../postgres/kept-connection.js';
import { control, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';
import { followingConfig } from './following-fixture.js';

const secret = 'whsec_dGVzdC1zZWNyZXQtb2YtdGhlLWZsZWV0';
const patient = { timeout: 120_000, interval: 50 };
const vaultKey = Buffer.alloc(32, 7).toString('base64');

let sandbox: Sandbox;
let database: FreshDatabase;
let rows: ReturnType<typeof keptConnection>;
let daemons: Daemon[];
let delivered = 0;

beforeEach(async () => {
  [sandbox, database] = await Promise.all([
    sandboxFor({ companies: 6, records: 24, limits: false, installed: 0.67 }),
    migratedDatabase(),
  ]);
  rows = keptConnection(database.url);
  daemons = [];
});

afterEach(async () => {
  await Promise.all(daemons.map((daemon) => daemon.close()));
  await database.drop();
});

async function start(): Promise<Daemon> {
  const config = followingConfig(sandbox, {
    folder: freshFolder(),
    database: database.url,
    receiver: { port: 0, secret },
    rule: { afterRevoke: { keepDays: 0 } },
    vaultKey,
  });
  const daemon = await vi.waitFor(() => startDaemon(partsFor(config)), patient);
  daemons.push(daemon);
  return daemon;
}

const registry = () =>
  rows<{ source: string; state: string; mints: string; installation: string }>(
    'SELECT source, state, mints, installation FROM followed_sources ORDER BY source',
  );

const filled = async () =>
  (await rows<{ source: string }>('SELECT DISTINCT source FROM investments ORDER BY source')).map(
    ({ source }) => source,
  );

const worked = async () =>
  (await rows<{ source: string }>('SELECT source FROM fleet_sources ORDER BY source')).map(
    ({ source }) => source,
  );

const names = ({ engine }: Daemon) => engine.sources.all.map(({ name }) => name as string).sort();

test('a fleet: the leader mints one token each, all members know every source, and another leader continues', async () => {
  const leader = await start();
  await expect.poll(filled, patient).toHaveLength(4);
  const other = await start();
  await expect.poll(() => names(other), patient).toHaveLength(4);
  expect(names(other)).toEqual(names(leader));
  await expect.poll(worked, patient).toHaveLength(4);

  await install(other, { count: 1, seed: 1 });
  await expect.poll(filled, patient).toHaveLength(5);
  await expect.poll(() => names(other), patient).toHaveLength(5);
  await expect.poll(() => names(leader), patient).toHaveLength(5);

  daemons = [other];
  await leader.close();
  await install(other, { all: true });
  await expect.poll(filled, patient).toHaveLength(6);
  expect((await registry()).map(({ mints }) => Number(mints))).toEqual([1, 1, 1, 1, 1, 1]);

  const [revoked] = await registry();
  await control(sandbox, 'POST', `/installations/${revoked?.installation}/revoke`, {});
  await deliver(other, 'installation.revoked', revoked?.installation ?? '');
  await expect.poll(async () => (await registry())[0]?.state, patient).toBe('erased');
  expect(await filled()).toHaveLength(5);
  const entries = await rows<{ text: string }>('SELECT e::text AS text FROM rosterd_vault.vault_entries e');
  expect(entries).toHaveLength(5);
  expect(entries.map(({ text }) => text).join('\n')).not.toContain('at_test_');
});

/** Installs the application, and delivers the events to one daemon. */
async function install(to: Daemon, wish: object): Promise<void> {
  const { ids } = (await control(sandbox, 'POST', '/installations', wish)) as { ids: readonly string[] };
  for (const id of ids) await deliver(to, 'installation.created', id);
}

async function deliver(to: Daemon, event: string, installation: string): Promise<void> {
  delivered += 1;
  const body = JSON.stringify({
    id: `evt_following${delivered}`,
    event,
    created_at: new Date().toISOString(),
    mode: 'test',
    installation: { id: installation, target: null, test: false },
    data: {},
  });
  const time = Math.floor(Date.now() / 1_000);
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  const response = await fetch(to.receiverUrl ?? '', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'service-signature': `t=${time},v1=${signature}` },
    body,
  });
  expect(response.status).toBe(202);
}
