import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { systemClock } from '../../src/runtime/clock.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { built } from '../torture/life.js';
import { fakeIo, rosterd } from './fake-io.js';

const patient = { interval: 50 };
const entry = fileURLToPath(new URL('../torture/stops.mjs', import.meta.url));

let sandbox: Sandbox;
let folder: string;
let daemon: ChildProcess;
let log = '';

const company = () => sandbox.ready.companies[0] as Sandbox['ready']['companies'][number];

/** Runs a real daemon whose database file is limited to a number of pages until it gets SIGUSR2. */
function start(pagesMax: number): void {
  log = '';
  daemon = spawn(process.execPath, [entry, 'run', '--config', join(folder, 'config.json')], {
    cwd: packageRoot,
    env: {
      ...process.env,
      TOKEN: company().token,
      ROSTERD_LOG__FORMAT: 'json',
      ROSTERD_TORTURE: JSON.stringify({ ...built, pagesMax }),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  daemon.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
}

async function stop(): Promise<void> {
  daemon.kill('SIGTERM');
  if (daemon.exitCode === null && daemon.signalCode === null) await once(daemon, 'exit');
}

beforeAll(async () => {
  sandbox = await startSandbox({ companies: 1, records: 20, limits: false });
  folder = mkdtempSync(join(tmpdir(), 'rosterd-full-'));
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      platform: { baseUrl: sandbox.url },
      database: 'sqlite:./mirror.db',
      sources: [{ name: 'acme', token: { env: 'TOKEN' }, company: company().id }],
      sync: { intervalSeconds: 1 },
      console: { listen: '127.0.0.1:0' },
    }),
  );
});

afterAll(async () => {
  daemon.kill('SIGKILL');
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (path: string) => fetch(`${/dashboard at (http:\/\/\S+?)\//.exec(log)?.[1]}${path}`);

const look = <Result>(work: (database: Sqlite.Database) => Result): Result => {
  const database = new Sqlite(join(folder, 'mirror.db'), { readonly: true });
  try {
    return work(database);
  } finally {
    database.close();
  }
};

const check = () => rosterd(['status', '--check'], fakeIo({ cwd: folder, env: {}, clock: systemClock }));

const create = async (count: number) => {
  const { status } = await fetch(`${sandbox.ready.control}/investments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ company: company().id, count }),
  });
  expect(status).toBe(200);
};

/** Makes storing a tick need so much space that a file that cannot grow can store none. */
function everyTickNeeds(bytes: number): void {
  const database = new Sqlite(join(folder, 'mirror.db'));
  database.pragma('busy_timeout = 10000');
  database.exec(`
    CREATE TABLE filler (bytes BLOB);
    CREATE TRIGGER fills_the_disk AFTER INSERT ON tick_rows BEGIN
      DELETE FROM filler;
      INSERT INTO filler VALUES (zeroblob(${bytes}));
    END`);
  database.close();
}

const rowsHeld = () => look((database) => database.prepare('SELECT count(*) FROM investments').pluck().get());

test('a daemon whose disk is full says so at once, everywhere, and all is well again once there is room', {
  timeout: 480_000,
}, async () => {
  start(2_000);
  await expect.poll(async () => (await check()).code, patient).toBe(0);
  const [address = ''] = readdirSync(folder).filter((name) => name.includes('.daemon-'));
  expect(statSync(join(folder, address)).mode & 0o777).toBe(0o600);

  const held = Number(rowsHeld());
  everyTickNeeds(12_000_000);
  await create(60);
  await expect.poll(async () => (await ask('/healthz')).status, patient).toBe(503);
  const healthz = await (await ask('/healthz')).json();
  expect(healthz).toMatchObject({
    health: 'failing',
    reasons: [{ source: 'acme', health: 'failing', state: 'following' }],
    problems: [{ key: 'tick.acme', severity: 'ill', text: expect.stringContaining('no room left') }],
  });
  // The daemon must be asked directly, because the database could not store the failure.
  expect(look((database) => database.prepare('SELECT last_outcome FROM sources').pluck().get())).toBe('done');
  expect((await ask('/readyz')).status).toBe(503);
  const metrics = await (await ask('/metrics')).text();
  expect(metrics).toContain('rosterd_daemon_problems{severity="ill"} 1\n');
  expect(metrics).toContain('rosterd_source_health{source="acme",state="ok"} 0\n');
  expect(metrics).toContain('rosterd_source_health{source="acme",state="failing"} 1\n');
  expect(((await (await ask('/status.json')).json()) as { health: string }).health).toBe('failing');
  for (const path of ['/', '/operations']) {
    const page = await (await ask(path)).text();
    expect([path, page]).toEqual([path, expect.stringContaining('data-state="failing">Retrying')]);
  }
  expect(await (await ask('/operations')).text()).toContain('no room left');
  const { code, out } = await check();
  expect(code).toBe(1);
  expect(out).toMatch(/^acme +following \(failing\)/m);
  expect(out).toContain('acme: its last tick failed and could not be written down');
  // The process is alive, and restarting it would not free any space.
  expect((await ask('/livez')).status).toBe(200);

  daemon.kill('SIGUSR2');
  await expect.poll(async () => (await check()).code, patient).toBe(0);
  expect((await ask('/healthz?strict=1')).status).toBe(200);
  expect((await ask('/readyz')).status).toBe(200);
  expect(await (await ask('/metrics')).text()).toContain('rosterd_daemon_problems{severity="ill"} 0\n');
  expect(rowsHeld()).toBe(held + 60);

  daemon.kill('SIGSTOP');
  const frozen = await check();
  daemon.kill('SIGCONT');
  expect(frozen.code).toBe(1);
  expect(frozen.out).toContain(
    `the daemon (process ${daemon.pid}) lives and does not answer at http://127.0.0.1:`,
  );

  const { key, url } = JSON.parse(readFileSync(join(folder, address), 'utf8')) as {
    key: string;
    url: string;
  };
  const own = (given: string) =>
    fetch(`${url}/daemon.json`, { headers: { authorization: `Bearer ${given}` } }).then(
      ({ status }) => status,
    );
  expect(await own(key)).toBe(200);
  expect(await own(`${key}x`)).toBe(401);

  await stop();
  expect(readdirSync(folder).filter((name) => name.includes('.daemon-'))).toEqual([]);
  expect(log).not.toMatch(/\n\s+at /);
});
