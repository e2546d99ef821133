import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { openPostgresVault } from '../../src/store/dialect/postgres/vault.js';
import { openEncryptedVault } from '../../src/vault/encrypted-vault.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { tempFolder } from '../store/temp-folder.js';
import { testRandom } from '../support/chance.js';
import { fakeIo, rosterd } from './fake-io.js';

test('vault status counts by kind and key, and vault rotate names what no listed key decrypts', async () => {
  const database = await migratedDatabase();
  onTestFinished(() => database.drop());
  const [first, second, lost] = ['11', '22', '33'].map((byte) => byte.repeat(32)) as [string, string, string];
  for (const [entry, key] of [
    ['sign-in/crm', second],
    ['endpoint/live', lost],
  ] as const) {
    const vault = openEncryptedVault({
      entries: openPostgresVault(
        { kind: 'postgres', url: database.url, password: null },
        { isGone: () => false },
      ),
      keys: [{ name: 'vault.keys[0]', reveal: async () => key }],
      ...{ holder: 'test', clock: systemClock, random: testRandom() },
    });
    await vault.write(entry, 'a secret');
    await vault.close();
  }
  const cwd = tempFolder();
  const platform = { baseUrl: 'https://api.example.com' };
  const keys = [{ env: 'FIRST' }, { env: 'SECOND' }];
  const sources = [{ name: 'mine', credentials: { vault: 'crm', clientId: 'pk_live_1' }, company: 'co_1' }];
  writeFileSync(
    join(cwd, 'config.json'),
    JSON.stringify({ platform, database: database.url, vault: { keys }, sources }),
  );
  const run = async (...args: string[]) => {
    const io = fakeIo({ cwd, clock: systemClock, env: { FIRST: first, SECOND: second } });
    const { code, out, err } = await rosterd([...args, '--config', 'config.json'], io);
    return { code, out, err };
  };
  expect(await run('vault', 'status')).toEqual({
    code: 1,
    out: `2 secrets in PostgreSQL, encrypted
KIND      ENTRIES
endpoint  1
sign-in   1
KEY           ROLE     ENTRIES
3ae1929fc817  first    0
aa7ba94c56cf  older    1
3d32104c9dd2  missing  1
`,
    err: 'warning: key 3d32104c9dd2 is not listed in vault.keys: add it, or remove its entries, which rosterd vault rotate names\n',
  });
  expect(await run('vault', 'rotate')).toEqual({
    code: 1,
    out: '1 secret encrypted with the first key\n',
    err: 'warning: endpoint/live does not decrypt with any listed key; it was left as it is. Add its key, or: rosterd vault remove endpoint/live\n',
  });
  expect(await run('vault', 'remove', 'endpoint/live')).toMatchObject({ code: 0 });
  expect(await run('vault', 'rotate', '--json')).toEqual({
    code: 0,
    out: '{"replaced":0,"unreadable":[]}\n',
    err: '',
  });
});
