import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fixedSettings } from '../../src/config/fixed-settings.js';
import { loadConfig } from '../../src/config/load.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { type Running, reload } from '../../src/daemon/reload.js';
import { Fault } from '../../src/domain/fault.js';
import { systemClock } from '../../src/runtime/clock.js';
import type { LogFields, Logger } from '../../src/runtime/logger.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { wayTo } from '../postgres/way-to.js';
import { testRandom } from '../support/chance.js';
import { freePort } from '../support/free-port.js';
import { control, freshFolder, readerOf, sandboxFor } from './daemon-fixture.js';

interface Line extends LogFields {
  readonly level: string;
  readonly message: string;
}

/** Starts a daemon with a configuration file in a new folder. */
async function runningWorld(database = 'sqlite:mirror.db', more: Readonly<Record<string, unknown>> = {}) {
  const sandbox = await sandboxFor({ companies: 2, records: 60 });
  const folder = freshFolder();
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 });
  const [first, second] = sandbox.ready.companies;
  if (first === undefined || second === undefined) throw new Error('two companies were asked for');
  write('acme.token', first.token);
  write('beta.token', second.token);
  write('console.token', 'a-token-for-the-console');
  write('hook.secret', 'whsec_c2VjcmV0');
  write('ca.pem', authority);
  const acme = { name: 'acme', company: first.id, token: { file: 'acme.token' } };
  const beta = { name: 'beta', company: second.id, token: { file: 'beta.token' } };
  const settings = {
    platform: { baseUrl: sandbox.ready.baseUrl, ca: 'ca.pem' },
    database,
    sources: [acme],
    sync: { intervalSeconds: 3_600 },
    console: {
      listen: `127.0.0.1:${await freePort()}`,
      auth: { token: { file: 'console.token' } },
    },
    ...more,
  };
  const configure = (value: unknown) =>
    write('config.json', typeof value === 'string' ? value : JSON.stringify(value));
  configure(settings);

  const lines: Line[] = [];
  const log = (level: string) => (fields: LogFields, message: string) =>
    void lines.push({ ...fields, level, message });
  const logger: Logger = {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    child: () => logger,
  };
  const parts = {
    load: async () => loadConfig({ cwd: folder, env: {} }),
    partsOf: async ({ config }: Running['loaded']) => ({
      config,
      clock: systemClock,
      random: testRandom(),
      logger,
    }),
  };
  const loaded = await parts.load();
  const started = await parts.partsOf(loaded);
  const current: { running: Running } = {
    running: { loaded, parts: started, daemon: await startDaemon(started) },
  };
  onTestFinished(() => current.running.daemon.close());
  const metrics = (token: string) =>
    fetch(`http://${settings.console.listen}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  return {
    sandbox,
    folder,
    settings,
    beta,
    lines,
    metrics,
    write,
    configure,
    second,
    /** Reloads, and checks that a daemon runs afterwards. */
    reload: async (more: Partial<Parameters<typeof reload>[1]> = {}) => {
      const before = current.running;
      lines.length = 0;
      const { outcome, running } = await reload(before, { ...parts, ...more });
      current.running = running;
      return { outcome, replaced: running.daemon !== before.daemon, daemon: running.daemon };
    },
    daemon: () => current.running.daemon,
    errors: () => lines.filter(({ level }) => level === 'error'),
    reader: () => readerOf(loaded.config),
  };
}

test('a reload with a second source lists it, and keeps the mirror and the addresses', async () => {
  const world = await runningWorld();
  world.configure({ ...world.settings, sources: [...world.settings.sources, world.beta] });
  const { outcome, replaced, daemon } = await world.reload();
  expect({ outcome, replaced }).toEqual({ outcome: 'applied', replaced: true });
  expect(world.errors()).toEqual([]);
  await daemon.engine.sync.idle();
  const counted = world.reader().prepare('SELECT source, count(*) > 0 FROM investments GROUP BY 1').raw();
  expect(counted.all()).toEqual([
    ['acme', 1],
    ['beta', 1],
  ]);
  expect((await world.metrics('a-token-for-the-console')).status).toBe(200);
});

test('a reload without changes rereads secrets in place: the console refuses its old token', async () => {
  const world = await runningWorld();
  expect((await world.metrics('a-token-for-the-console')).status).toBe(200);
  world.write('console.token', 'the-next-console-token');
  const { outcome, replaced } = await world.reload();
  expect({ outcome, replaced }).toEqual({ outcome: 'secrets', replaced: false });
  expect((await world.metrics('a-token-for-the-console')).status).toBe(401);
  expect((await world.metrics('the-next-console-token')).status).toBe(200);
});

test('a reload gives people new roles and tokens, rotates one of them in place, and refuses two with one value', async () => {
  const world = await runningWorld();
  const page = (path: string, token: string) =>
    fetch(`http://${world.settings.console.listen}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
  const tokens = [
    { name: 'oleg', role: 'operator', token: { file: 'oleg.token' } },
    { name: 'vera', role: 'viewer', token: { file: 'vera.token' } },
  ];
  world.write('oleg.token', 'the-first-token-of-oleg');
  world.write('vera.token', 'the-first-token-of-oleg');
  const { console } = world.settings;
  world.configure({ ...world.settings, console: { ...console, auth: { tokens } } });
  expect(await world.reload()).toMatchObject({ outcome: 'refused', replaced: false });
  expect(JSON.stringify(world.errors())).not.toContain('the-first-token');

  world.write('vera.token', 'the-first-token-of-vera');
  expect(await world.reload()).toMatchObject({ outcome: 'applied', replaced: true });
  expect((await page('/actions', 'the-first-token-of-oleg')).status).toBe(200);
  expect((await page('/actions', 'the-first-token-of-vera')).status).toBe(403);
  expect((await page('/metrics', 'a-token-for-the-console')).status).toBe(401);

  world.write('oleg.token', 'the-second-token-of-oleg');
  expect(await world.reload()).toMatchObject({ outcome: 'secrets', replaced: false });
  expect((await page('/metrics', 'the-first-token-of-oleg')).status).toBe(401);
  expect((await page('/actions', 'the-second-token-of-oleg')).status).toBe(200);
  expect((await page('/metrics', 'the-first-token-of-vera')).status).toBe(200);
});

test('a reload without changes switches each source to the current token of its file', async () => {
  const world = await runningWorld();
  const requests = async () =>
    (await control(world.sandbox, 'GET', '/requests')) as { requests: { tokenId: string | null }[] };
  await world.daemon().engine.sync.idle();
  const { requests: before } = await requests();
  world.write('acme.token', world.second.token);
  const { daemon } = await world.reload();
  await daemon.engine.sync.idle();
  const { requests: after } = await requests();
  const used = (all: typeof before) => new Set(all.map(({ tokenId }) => tokenId));
  expect(used(after).size).toBe(used(before).size + 1);
});

test.each<[string, (world: Awaited<ReturnType<typeof runningWorld>>) => void, RegExp]>([
  ['is no JSON', ({ configure }) => configure('{"platform": '), /configuration is not valid/],
  [
    'has an unknown option',
    ({ configure, settings }) => configure({ ...settings, sinc: {} }),
    /configuration is not valid/,
  ],
  [
    'names a secret that cannot be read',
    ({ configure, settings, beta }) =>
      configure({ ...settings, sources: [...settings.sources, { ...beta, token: { file: 'none' } }] }),
    /secret cannot be used/,
  ],
  [
    'has a console token that is too short',
    ({ write }) => write('console.token', 'short'),
    /secret cannot be used/,
  ],
  [
    'moves the database',
    ({ configure, settings }) => configure({ ...settings, database: 'sqlite:other.db' }),
    /needs a restart/,
  ],
  [
    'switches the console off',
    ({ configure, settings }) => configure({ ...settings, console: null }),
    /needs a restart/,
  ],
])('a reload of a configuration that %s changes nothing, and the log says why', async (_, change, why) => {
  const world = await runningWorld();
  change(world);
  const { outcome, replaced } = await world.reload();
  expect({ outcome, replaced }).toEqual({ outcome: 'refused', replaced: false });
  expect(world.errors()[0]?.message).toMatch(why);
  expect(world.errors().at(-1)?.message).toContain('keeps its configuration');
});

test('a reload falls back to the old configuration when the new one does not start', async () => {
  const world = await runningWorld();
  world.configure({ ...world.settings, sources: [...world.settings.sources, world.beta] });
  let starts = 0;
  const { outcome, replaced, daemon } = await world.reload({
    start: (parts) => {
      starts += 1;
      if (starts === 1) throw new Fault('unreachable', 'the server is away');
      return startDaemon(parts);
    },
  });
  expect({ outcome, replaced, starts }).toEqual({ outcome: 'failed', replaced: true, starts: 2 });
  expect(world.errors().map(({ message }) => message)).toEqual([
    'the daemon does not start with the new configuration; it opens with the old one',
  ]);
  await daemon.engine.sync.idle();
  expect((await world.metrics('a-token-for-the-console')).status).toBe(200);
});

test('a reload while the server with the mirror is away changes nothing, and the daemon stays', async () => {
  const { url, drop } = await migratedDatabase();
  const way = await wayTo(url);
  const world = await runningWorld(way.url);
  await world.daemon().engine.sync.idle();
  world.configure({ ...world.settings, sources: [...world.settings.sources, world.beta] });
  way.refuse();
  expect(await world.reload()).toMatchObject({ outcome: 'refused', replaced: false });
  expect(world.errors().map(({ message }) => message)).toEqual([
    'the database is away, so a daemon with the new configuration could not start',
    'nothing was reloaded; the daemon keeps its configuration',
  ]);
  expect((await world.metrics('a-token-for-the-console')).status).toBe(200);
  await world.daemon().close();
  await drop();
});

const authority = readFileSync(new URL('../client/fixtures/tls/authority.cert.pem', import.meta.url), 'utf8');

test.each([
  ['a command that prints a signing secret fails', 'hook.secret', 'receiver.secrets[0]: the command'],
  ['the file of platform.ca is gone', 'ca.pem', 'platform.ca: '],
])('a reload while %s changes nothing, and the daemon stays', async (_, file, why) => {
  const print = "process.stdout.write(require('node:fs').readFileSync('hook.secret'))";
  const receiver = {
    listen: `127.0.0.1:${await freePort()}`,
    secrets: [{ command: [process.execPath, '-e', print] }],
  };
  const world = await runningWorld(undefined, { receiver });
  const healthy = async () => (await fetch(`http://${receiver.listen}/healthz`)).status;
  const kept = readFileSync(join(world.folder, file), 'utf8');
  rmSync(join(world.folder, file));
  world.configure({ ...world.settings, sources: [...world.settings.sources, world.beta] });
  expect(await world.reload()).toMatchObject({ outcome: 'refused', replaced: false });
  expect(world.errors()).toMatchObject([
    { error: { message: expect.stringContaining(why) } },
    { message: 'nothing was reloaded; the daemon keeps its configuration' },
  ]);
  expect(await healthy()).toBe(200);
  world.write(file, kept);
  expect(await world.reload()).toMatchObject({ outcome: 'applied', replaced: true });
  expect(await healthy()).toBe(200);
});

test('the deployment page lists every setting that needs a restart', () => {
  const page = readFileSync(join(packageRoot, 'docs', 'deploying.md'), 'utf8');
  for (const name of fixedSettings) expect(page).toContain(`\`${name}\``);
});
