import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import type { InstallationId, SourceName } from '../../src/domain/ids.js';
import { systemClock } from '../../src/runtime/clock.js';
import { fakeIo, rosterd } from '../cli/fake-io.js';
import { type FreshDatabase, migratedDatabase } from '../postgres/fresh-database.js';
import { keptConnection } from '../postgres/kept-connection.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const patient = { timeout: 120_000, interval: 50 };
const names = ['c0', 'c1', 'c2'] as SourceName[];

let database: FreshDatabase;
let rows: ReturnType<typeof keptConnection>;
let daemons: Daemon[];

beforeEach(async () => {
  database = await migratedDatabase();
  rows = keptConnection(database.url);
  daemons = [];
});

afterEach(async () => {
  await Promise.all(daemons.map((daemon) => daemon.close()));
  await database.drop();
});

test('three daemons whose sources share a token divide what is left of it, status says so, and none counts after it left', {
  timeout: 120_000,
}, async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 10, limits: false });
  const [company] = sandbox.ready.companies;
  if (company === undefined) throw new Error('the sandbox has no company');
  const configIn = (folder: string): Config => {
    const config = configFor(sandbox, { folder, database: database.url });
    const [source] = config.sources;
    if (source === undefined) throw new Error('the configuration has no source');
    return {
      ...config,
      sources: names.map((name) => ({ ...source, name, installation: `ins_${name}` as InstallationId })),
      platform: { ...config.platform, requestsPerHour: 100 },
      sync: { ...config.sync, catalogIntervalSeconds: null },
    };
  };
  const folders = names.map(() => freshFolder());
  for (const folder of folders)
    daemons.push(await vi.waitFor(() => startDaemon(partsFor(configIn(folder))), patient));
  const holds = (daemon: Daemon, source: SourceName) => daemon.engine.sync.spacingOf(source).reason;
  const own = (daemon: Daemon) => names.filter((name) => holds(daemon, name) !== 'elsewhere');
  await expect.poll(() => daemons.map((daemon) => own(daemon).length), patient).toEqual([1, 1, 1]);
  await expect.poll(() => rows("SELECT 1 FROM sources WHERE state = 'following'"), patient).toHaveLength(3);

  const spacing = (daemon: Daemon) => daemon.engine.sync.spacingOf(own(daemon)[0] ?? ('none' as SourceName));
  // Fewer than a third are left, so that webhook ticks are spaced.
  for (let next = 0; (spacing(daemons[next % 3] as Daemon).by?.left ?? 100) > 30; next += 1) {
    const daemon = daemons[next % 3] as Daemon;
    for (const name of own(daemon)) await daemon.engine.sync.tick(name);
  }
  for (const daemon of daemons) for (const name of own(daemon)) daemon.engine.sync.nudge(name);
  await expect
    .poll(() => daemons.map((daemon) => spacing(daemon).by), patient)
    .toMatchObject(daemons.map(() => ({ kind: 'token', sharing: 1, elsewhere: 2 })));
  // All see one count, although each has only seen its own last request.
  await expect.poll(() => new Set(daemons.map((daemon) => spacing(daemon).by?.left)).size, patient).toBe(1);
  const [, folder = ''] = folders;
  // On a server, the configuration says where the daemons of this host leave their addresses.
  const { baseUrl } = sandbox.ready;
  const sources = [{ name: 'c0', token: { env: 'TOKEN' }, company: company.id }];
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({ platform: { baseUrl }, database: database.url, sources }),
    { mode: 0o600 },
  );
  const io = fakeIo({ cwd: folder, env: { TOKEN: company.token }, clock: systemClock });
  const { out } = await rosterd(['status'], io);
  expect(out).toMatch(
    /c\d: after a webhook, the feed is read at most every .*: \d+ of 100 requests of the token are left until .*Z, for 3 sources with webhooks, 2 of them on other hosts\n/,
  );
  // Names only: nothing that is derived from a token is sent to the others.
  const [stored] = await rows<{ text: string }>(
    "SELECT string_agg(m::text, ' ') AS text FROM fleet_members m",
  );
  expect(stored?.text).toContain('{c');
  expect(stored?.text).not.toContain(company.token);

  const [leaver] = daemons.splice(0, 1);
  await leaver?.close();
  // The source of the one that left has had no webhook at its new host.
  await expect
    .poll(() => Math.max(...daemons.map((daemon) => spacing(daemon).by?.elsewhere ?? 9)), patient)
    .toBeLessThan(2);
});
