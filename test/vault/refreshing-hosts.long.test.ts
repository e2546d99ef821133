import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type CredentialStore, vaultCredentials } from '../../src/client/tokens/credential-store.js';
import { storedToken } from '../../src/client/tokens/static-token.js';
import { systemClock } from '../../src/runtime/clock.js';
import { processName } from '../../src/runtime/process-identity.js';
import { openPostgresVault } from '../../src/store/dialect/postgres/vault.js';
import { type EncryptedVault, openEncryptedVault } from '../../src/vault/encrypted-vault.js';
import { serveTokens } from '../client/tokens/token-server.js';
import { type FreshDatabase, migratedDatabase } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { testRandom } from '../support/chance.js';
import { compiledScript } from '../support/compiled-script.js';

const script = fileURLToPath(new URL('./vault-refresher.ts', import.meta.url));
const key = '3'.repeat(64);
const { signal } = new AbortController();
let database: FreshDatabase;

beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database?.drop());

let vault: EncryptedVault;
let store: CredentialStore;

beforeEach(async () => {
  vault = openEncryptedVault({
    entries: openPostgresVault(
      { kind: 'postgres', url: database.url, password: null },
      { isGone: () => false },
    ),
    keys: [{ name: 'vault.keys[0]', reveal: async () => key }],
    holder: processName(),
    clock: systemClock,
    random: testRandom(),
  });
  onTestFinished(() => vault.close());
  store = vaultCredentials(vault, 'sign-in/crm');
  await store.write({
    clientId: 'pk_test_1',
    clientSecret: null,
    accessToken: 'at_old',
    refreshToken: 'rt_0',
    previousRefreshToken: null,
    expiresAt: null,
    scope: '',
  });
});

async function refresh(url: string, when: string) {
  const child = spawn(process.execPath, [await compiledScript(script), url, database.url, key, when], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [, ended]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { printed, ended };
}

test.each(['before', 'after'])(
  'CLIENT-11 OAUTH-19 a host killed %s it stored a refreshed sign-in in the vault leaves one that the next host goes on with',
  async (when) => {
    const { tokens, url } = await serveTokens();
    expect(await refresh(url, when)).toEqual({ printed: '', ended: 'SIGKILL' });
    const { printed, ended } = await refresh(url, 'never');
    expect(ended).toBeNull();
    expect(tokens.use(printed)).toBe(true);
    expect((await store.read()).accessToken).toBe(printed);
    expect(tokens.invalidGrants).toBe(0);
    expect(
      await withClient(
        database.url,
        async (client) => (await client.query('TABLE rosterd_vault.vault_locks')).rows,
      ),
    ).toEqual([]);
  },
);

test('of several hosts that refresh one sign-in at once, one sends the request', async () => {
  const { tokens, url } = await serveTokens();
  const done = await Promise.all([1, 2, 3].map(() => refresh(url, 'never')));
  expect(done.map(({ printed }) => printed)).toEqual(['at_1', 'at_1', 'at_1']);
  expect(tokens.asked).toBe(1);
});

test('a sign-in that is not in the vault, or not usable there, asks for a new one without quoting it', async () => {
  await vault.remove('sign-in/crm');
  await expect(store.read()).rejects.toMatchObject({
    code: 'reauthorize',
    message: 'there is no sign-in yet: the vault has no entry "sign-in/crm"',
    about: { hint: expect.stringContaining('rosterd connect --source NAME') },
  });
  await vault.write('sign-in/crm', '{"clientId": "canary-client"}');
  const error = await store.read().catch((caught: Error) => caught);
  expect(error).toMatchObject({
    code: 'reauthorize',
    message: 'the vault entry "sign-in/crm" is not usable: "accessToken" is missing',
  });
  expect(String((error as Error).stack)).not.toContain('canary');
});

test('a minted token is read from the vault once, and again after a 401 or a reload', async () => {
  let reads = 0;
  const counting = {
    read: (name: string) => {
      reads += 1;
      return vault.read(name);
    },
  };
  const tokens = storedToken(counting, 'installation/inst_1');
  await expect(tokens.current(signal)).rejects.toMatchObject({
    code: 'reauthorize',
    message: 'there is no token: the vault has no entry "installation/inst_1"',
  });
  await vault.write('installation/inst_1', 'at_live_1');
  expect([await tokens.current(signal), await tokens.current(signal), reads]).toEqual([
    'at_live_1',
    'at_live_1',
    2,
  ]);
  await vault.write('installation/inst_1', 'at_live_2');
  expect(await tokens.renew('at_live_1', signal)).toBe('at_live_2');
  expect(await tokens.renew('at_live_1', signal)).toBe('at_live_2');
  expect(reads).toBe(3);
  await vault.write('installation/inst_1', 'at_live_3');
  tokens.reload?.();
  expect(await tokens.current(signal)).toBe('at_live_3');
});
