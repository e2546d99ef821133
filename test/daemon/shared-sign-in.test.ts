import { expect, onTestFinished, test, vi } from 'vitest';
import { vaultCredentials } from '../../src/client/tokens/credential-store.js';
import type { Config } from '../../src/config/config.js';
import { Secret } from '../../src/config/secrets.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { openVault } from '../../src/reading/open-vault.js';
import { systemClock } from '../../src/runtime/clock.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { keptConnection } from '../postgres/kept-connection.js';
import { configFor, control, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const patient = { timeout: 120_000, interval: 100 };

test('P12 two daemons on one database share a rotating sign-in: each works sources with it, and one refreshes it', async () => {
  const [sandbox, database] = await Promise.all([
    sandboxFor({ companies: 6, records: 60, limits: false }),
    migratedDatabase(),
  ]);
  onTestFinished(() => database.drop());
  const [app] = sandbox.ready.apps;
  const [person] = sandbox.ready.users;
  if (app === undefined || person === undefined) throw new Error('an empty sandbox');
  const secret = (name: string, value: string) =>
    new Secret(name, { env: 'VALUE' }, { env: { VALUE: value }, folder: '' });
  const plain = configFor(sandbox, { folder: freshFolder(), database: database.url });
  const config: Config = {
    ...plain,
    vault: { ...plain.vault, keys: [secret('vault.keys[0]', '5'.repeat(64))] },
    console: null,
    sources: plain.sources.map((source) => ({
      ...source,
      installation: null,
      access: {
        kind: 'credentials',
        at: { entry: 'sign-in/crm' },
        clientId: app.clientId,
        clientSecret: secret('clientSecret', app.clientSecret),
      },
    })),
  };
  const vault = openVault(config, { clock: systemClock });
  onTestFinished(() => vault.close());
  const store = vaultCredentials(vault, 'sign-in/crm');
  await store.write({
    clientId: app.clientId,
    clientSecret: null,
    accessToken: 'at_test_spent',
    refreshToken: person.refreshToken,
    previousRefreshToken: null,
    expiresAt: null,
    scope: '',
  });

  const daemons = [];
  for (let host = 0; host < 2; host += 1) {
    const daemon = await vi.waitFor(() => startDaemon(partsFor(config)), patient);
    onTestFinished(() => daemon.close());
    daemons.push(daemon);
  }
  const rows = keptConnection(database.url);
  await expect
    .poll(() => rows("SELECT count(*) FROM sources WHERE state = 'following'"), patient)
    .toEqual([{ count: '6' }]);
  await expect
    .poll(() => rows('SELECT DISTINCT member FROM fleet_sources').then(({ length }) => length), patient)
    .toBe(2);

  const refreshes = async () => {
    const { requests } = (await control(sandbox, 'GET', '/requests')) as {
      requests: { method: string; path: string; status: number }[];
    };
    return requests.filter(({ path }) => path.endsWith('/oauth/token')).map(({ status }) => status);
  };
  expect(await refreshes()).toEqual([200]);
  const { accessToken } = await store.read();
  expect(accessToken).not.toBe('at_test_spent');

  // Both daemons know the pair by now; it is refused to both at once.
  const [one, two] = daemons.map(({ engine }) =>
    engine.platform.tokensOf(config.sources[0]?.access as never),
  );
  const never = new AbortController().signal;
  const renewed = await Promise.all([one, two].map((tokens) => tokens?.renew(accessToken, never)));
  expect(new Set(renewed).size).toBe(1);
  expect(await refreshes()).toEqual([200, 200]);
  expect((await store.read()).accessToken).toBe(renewed[0]);
});

test('a daemon does not start with a key of another length, and names the option', async () => {
  const [sandbox, database] = await Promise.all([
    sandboxFor({ companies: 1, records: 5 }),
    migratedDatabase(),
  ]);
  onTestFinished(() => database.drop());
  const config = configFor(sandbox, { folder: freshFolder(), database: database.url });
  const short = new Secret('vault.keys[0]', { env: 'KEY' }, { env: { KEY: 'canary-short' }, folder: '' });
  const start = () => startDaemon(partsFor({ ...config, vault: { ...config.vault, keys: [short] } }));
  await expect(start()).rejects.toMatchObject({ code: 'usage', message: 'vault.keys[0]: is not a key' });
});
