import { createClient } from '../../src/client/create-client.js';
import { openConnectionPool } from '../../src/client/fetch/connection-pool.js';
import { vaultCredentials } from '../../src/client/tokens/credential-store.js';
import { refreshingToken } from '../../src/client/tokens/refreshing-token.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { isSharedProcessGone, processName } from '../../src/runtime/process-identity.js';
import { systemRandom } from '../../src/runtime/random.js';
import { openPostgresVault } from '../../src/store/dialect/postgres/vault.js';
import { openEncryptedVault } from '../../src/vault/encrypted-vault.js';
import type { SealedEntries } from '../../src/vault/ports.js';
import { headerNames } from '../../src/wire/headers.js';

/* A host that refreshes a sign-in in the vault and kills itself before or after it stored the new pair. */
const [baseUrl = '', url = '', key = '', when = 'never'] = process.argv.slice(2);

const die = async (): Promise<never> => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
};
const stored = openPostgresVault({ kind: 'postgres', url, password: null }, { isGone: isSharedProcessGone });
const write = stored.write.bind(stored);
const entries: SealedEntries = Object.assign(stored, {
  write: async (...args: Parameters<SealedEntries['write']>) => {
    if (when === 'before') await die();
    const written = await write(...args);
    if (when === 'after') await die();
    return written;
  },
});
const vault = openEncryptedVault({
  entries,
  keys: [{ name: 'vault.keys[0]', reveal: async () => key }],
  holder: processName(),
  clock: systemClock,
  random: systemRandom,
});
const pool = openConnectionPool();
const client = createClient({
  baseUrl,
  version: '2026-10-15',
  names: headerNames(),
  wire: pool.fetch,
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
  budgets: { load: async () => null, save: async () => {} },
});
const tokens = refreshingToken({
  store: vaultCredentials(vault, 'sign-in/crm'),
  application: client.asApplication,
  clock: systemClock,
  logger: silentLogger,
});
process.stdout.write(await tokens.renew('at_old', new AbortController().signal));
await pool.close();
await vault.close();
