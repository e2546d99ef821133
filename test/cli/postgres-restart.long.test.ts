import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { withClient } from '../postgres/run-databases.js';
import { type PostgresServer, startPostgres } from '../postgres/server.js';
import { startSeededSandbox } from '../support/seeded-sandbox.js';

const secret = 'whsec_dGVzdC1zZWNyZXQtb2YtdGhlLXJlc3RhcnQ';
/** Long enough for a machine on which everything else runs, too: a daemon's start has taken more than half a minute. */
const patient = { timeout: 120_000, interval: 50 };

let server: PostgresServer;
let sandbox: Sandbox;
let folder: string;
let daemon: ChildProcess;
let log = '';

beforeAll(async () => {
  [server, sandbox] = await Promise.all([
    startPostgres(),
    startSeededSandbox({ companies: 1, records: 30, limits: false }),
  ]);
  folder = mkdtempSync(join(tmpdir(), 'rosterd-restart-'));
  const [company] = sandbox.ready.companies;
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      platform: { baseUrl: sandbox.url, headerPrefix: 'Service', requestIdHeader: 'X-Service-Request-Id' },
      database: server.url,
      sources: [
        {
          name: 'acme',
          token: company?.token,
          company: company?.id,
          installation: company?.installation,
        },
      ],
      sync: { intervalSeconds: 5 },
      receiver: { listen: '127.0.0.1:0', secrets: [{ env: 'HOOK' }] },
      console: { listen: '127.0.0.1:0' },
    }),
  );
  daemon = spawn(
    process.execPath,
    [join(packageRoot, 'dist/cli/main.js'), 'run', '--config', join(folder, 'config.json')],
    {
      cwd: packageRoot,
      env: { ...process.env, HOOK: secret, ROSTERD_LOG__FORMAT: 'json' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  daemon.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
});

afterAll(async () => {
  daemon.kill('SIGKILL');
  await Promise.all([server.close(), sandbox.close()]);
  rmSync(folder, { recursive: true, force: true });
});

const rows = (sql: string) =>
  withClient(server.url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows);

const addressIn = (words: string) => new RegExp(`${words} (http://\\S+)`).exec(log)?.[1] ?? '';

async function deliver(id: string): Promise<number> {
  const [company] = sandbox.ready.companies;
  const body = JSON.stringify({
    id,
    event: 'investment.changed',
    created_at: new Date().toISOString(),
    mode: 'test',
    installation: { id: company?.installation, target: null, test: false },
    data: {
      id: 'inv_x',
      visible: true,
      company: company?.id,
      observed_at: new Date(Date.now() - 1).toISOString(),
    },
  });
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
  const headers = { 'content-type': 'application/json', 'Service-Signature': `t=${t},v1=${v1}` };
  return (await fetch(addressIn('receiving webhooks at'), { method: 'POST', headers, body })).status;
}

const readiness = async () => (await fetch(`${addressIn('dashboard at')}readyz`)).status;

test('a daemon survives a database outage: it rejects deliveries meanwhile and continues afterwards', {
  timeout: 480_000,
}, async () => {
  await expect.poll(() => log, patient).toContain('Ctrl-C to stop');
  await expect.poll(() => rows('SELECT 1 FROM sources WHERE listed_at IS NOT NULL'), patient).toHaveLength(1);
  expect(await deliver('evt_before')).toBe(202);
  await expect
    .poll(
      () => rows("SELECT 1 FROM webhook_inbox WHERE event_id = 'evt_before' AND state = 'worked'"),
      patient,
    )
    .toHaveLength(1);

  await server.stop();
  for (const id of ['evt_away_1', 'evt_away_2']) expect(await deliver(id)).toBe(503);
  await expect.poll(readiness, patient).toBe(503);
  const change = await fetch(`${sandbox.ready.control}/churn`, {
    method: 'POST',
    body: JSON.stringify({ changes: 7 }),
  });
  expect(change.status).toBe(200);

  await server.start();
  // Exactly the deliveries answered with 202 are stored.
  expect((await rows('SELECT event_id FROM webhook_inbox')).map(({ event_id }) => event_id)).toEqual([
    'evt_before',
  ]);
  // The platform repeats a delivery until it is accepted: on a busy machine the first connection may take too long.
  await expect.poll(() => deliver('evt_away_1'), patient).toBe(202);
  await expect
    .poll(
      () => rows("SELECT 1 FROM webhook_inbox WHERE event_id = 'evt_away_1' AND state = 'worked'"),
      patient,
    )
    .toHaveLength(1);
  expect(await rows('SELECT 1 FROM change_rows WHERE seq > 1')).not.toEqual([]);
  await expect.poll(readiness, patient).toBe(200);

  expect(daemon.exitCode).toBeNull();
  daemon.kill('SIGTERM');
  const [code] = await once(daemon, 'exit');
  expect(code).toBe(0);
  // No stack trace, and no password, which was part of the address.
  expect(log).not.toMatch(/\n\s+at /);
  expect(log).not.toContain(new URL(server.url).password);
  expect(log).toContain(`mirroring into postgres://postgres@127.0.0.1`);
});
