import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../src/client/create-client.js';
import { openConnectionPool } from '../../src/client/fetch/connection-pool.js';
import { staticToken } from '../../src/client/tokens/static-token.js';
import type { EndpointConfig } from '../../src/config/config.js';
import { createEndpointCare, type EndpointCare } from '../../src/endpoint/care.js';
import { SecretRing } from '../../src/endpoint/secret-ring.js';
import { endpointStore } from '../../src/endpoint/state-store.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { processName } from '../../src/runtime/process-identity.js';
import { openPostgresVault } from '../../src/store/dialect/postgres/vault.js';
import { type EncryptedVault, openEncryptedVault } from '../../src/vault/encrypted-vault.js';
import { headerNames } from '../../src/wire/headers.js';
import { latestVersion } from '../../src/wire/versions.js';
import { folder } from '../config/load-config.js';
import { type RunningPlatform, startPlatform, user, worldStart } from '../conformance/running-platform.js';
import { type FreshDatabase, migratedDatabase } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { testRandom } from '../support/chance.js';
import { type ManualClock, manualClock } from '../support/manual-clock.js';
import { answeredRequests } from './answered-requests.js';

/* Hosts of a fleet that share the state of one endpoint through the vault, against the platform's own server. */

/** Within the life of the access token. */
const soon = 1_800_000;
const checkMillis = 300_000;
let database: FreshDatabase;

beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database?.drop());

interface Host {
  readonly care: EndpointCare;
  readonly ring: SecretRing;
}

interface Place {
  readonly clock: ManualClock;
  readonly world: RunningPlatform;
  readonly vault: () => EncryptedVault;
  readonly file: string;
  host(rotateMillis?: number | null): Promise<Host>;
  requests(method: string, ending: string): Promise<number>;
}

async function place(): Promise<Place> {
  await withClient(database.url, (client) =>
    client.query('TRUNCATE rosterd_vault.vault_entries').then(() => {}),
  );
  const clock = manualClock(worldStart);
  const world = await startPlatform({ clock, limits: false });
  onTestFinished(() => world.close());
  const requests = answeredRequests(world);
  const file = join(folder(), 'endpoint.json');
  const vault = () => {
    // Locks follow the real clock, as the server does.
    const opened = openEncryptedVault({
      entries: openPostgresVault(
        { kind: 'postgres', url: database.url, password: null },
        { isGone: () => false },
      ),
      keys: [{ name: 'vault.keys[0]', reveal: async () => '4'.repeat(64) }],
      holder: processName(),
      clock: systemClock,
      random: testRandom(),
    });
    onTestFinished(() => opened.close());
    return opened;
  };
  return {
    clock,
    world,
    vault,
    file,
    host: async (rotateMillis = null) => {
      const wanted: EndpointConfig = {
        publicUrl: 'http://127.0.0.1:9/webhooks',
        mode: 'test',
        events: ['investment.changed'],
        file,
        entry: 'endpoint/test',
        checkMillis,
        rotateMillis,
      };
      const pool = openConnectionPool();
      const client = createClient({
        baseUrl: world.url,
        version: latestVersion,
        names: headerNames(),
        wire: pool.fetch,
        clock: stopped(clock),
        random: testRandom(),
        logger: silentLogger,
        budgets: { load: async () => null, save: async () => {} },
        requestsPerHour: null,
      });
      const care = createEndpointCare({
        unstored: () => {},
        api: client.as(staticToken(() => user(world).liveToken)),
        wanted,
        store: endpointStore(wanted, vault()),
        clock,
        logger: silentLogger,
        catchUp: () => {},
      });
      onTestFinished(async () => {
        await care.close();
        await pool.close();
      });
      await care.load();
      return { care, ring: new SecretRing([], clock, silentLogger, care) };
    },
    requests: async (method, ending) =>
      (await requests()).filter((one) => one.method === method && one.path.endsWith(ending)).length,
  };
}

/** Requests time out by the real clock: the test moves the other one by days. */
const stopped = (clock: ManualClock): Clock => ({ ...systemClock, now: () => clock.now() });

const patient = { interval: 20 };

test('a host accepts deliveries after another one created the endpoint and rotated its secret', async () => {
  const { clock, host, requests } = await place();
  const [one, two] = [await host(soon), await host(soon)];
  one.care.start();
  await expect.poll(() => one.care.secrets().length, patient).toBe(1);
  expect(two.care.secrets()).toEqual([]);
  // The first delivery with an unknown signature.
  expect(await two.ring.newest()).toEqual(one.care.secrets());

  const [created = ''] = one.care.secrets();
  clock.advance(soon);
  const checked = () => {
    // The check before may still be under way, and the next one an interval away.
    clock.advance(checkMillis);
    return one.care.secrets().length;
  };
  await expect.poll(checked, patient).toBe(2);
  const [rotated = ''] = one.care.secrets();
  expect(rotated).not.toBe(created);
  expect(await two.ring.newest()).toEqual([rotated, created]);
  // Anyone can send an unknown signature: the next one within a second makes no query.
  expect(await two.ring.newest()).toBeNull();
  expect(await requests('POST', '/webhook_endpoints')).toBe(1);
});

test('hosts that care for one endpoint create it once and share the checks', async () => {
  const { clock, host, requests } = await place();
  const hosts = [await host(), await host(), await host()];
  for (const { care } of hosts) care.start();
  for (const { care } of hosts) await expect.poll(() => care.secrets().length, patient).toBe(1);
  expect(await requests('POST', '/webhook_endpoints')).toBe(1);
  // A host may know the secret from another one before its own first check.
  await expect.poll(() => requests('GET', '/webhook_endpoints'), patient).toBe(3);
  // From now on one check an interval is made, whichever host makes it.
  for (let turn = 1; turn <= 3; turn += 1) {
    const before = await requests('GET', '/webhook_endpoints');
    // The other hosts look in this time, and find the check.
    clock.advance(checkMillis / 2);
    const asked = async () => {
      clock.advance(checkMillis / 100);
      return (await requests('GET', '/webhook_endpoints')) - before;
    };
    await expect.poll(asked, patient).toBe(1);
  }
  // Three intervals of three hosts, and no more than a check each.
  expect(await requests('GET', '/webhook_endpoints')).toBe(6);
});

test('a host that dies after it asked for a rotation leaves the rest to another host', async () => {
  const { clock, host, vault } = await place();
  const [one, two] = [await host(), await host()];
  one.care.start();
  await expect.poll(() => one.care.secrets().length, patient).toBe(1);
  await one.care.close();
  // It recorded the rotation and died before the answer arrived.
  const opened = vault();
  const state = JSON.parse((await opened.read('endpoint/test')) ?? '{}');
  await opened.write(
    'endpoint/test',
    JSON.stringify({ ...state, rotationAskedAt: new Date(clock.now()).toISOString() }),
  );
  clock.advance(3_600_000);
  two.care.start();
  await expect.poll(() => two.care.secrets().length, patient).toBe(2);
  expect(two.care.secrets()[1]).toBe(state.secrets[0].value);
  expect(JSON.parse((await opened.read('endpoint/test')) ?? '{}').rotationAskedAt).toBeNull();
});

test('the state that one host had in a file moves to the vault with its secrets', async () => {
  const { host, file, vault, clock, requests } = await place();
  const before = await host();
  before.care.start();
  await expect.poll(() => before.care.secrets().length, patient).toBe(1);
  await before.care.close();
  const opened = vault();
  writeFileSync(file, (await opened.read('endpoint/test')) ?? '', { mode: 0o600 });
  await opened.remove('endpoint/test');

  const after = await host();
  expect(after.care.secrets()).toEqual(before.care.secrets());
  after.care.start();
  await expect.poll(() => opened.keys('endpoint/'), patient).toEqual(['endpoint/test']);
  clock.advance(1);
  expect(await requests('POST', '/webhook_endpoints')).toBe(1);
});

test('an entry that does not decrypt blocks the care and is not overwritten', async () => {
  const { host, vault } = await place();
  const opened = vault();
  await opened.write('endpoint/test', '{"secrets": []}');
  const damage = "UPDATE rosterd_vault.vault_entries SET sealed = 'AAAA'";
  await withClient(database.url, (client) => client.query(damage).then(() => {}));
  const { care } = await host();
  care.start();
  await care.reread();
  expect(care.secrets()).toEqual([]);
  await care.close();
  await expect(opened.read('endpoint/test')).rejects.toMatchObject({ code: 'database_unusable' });
});
