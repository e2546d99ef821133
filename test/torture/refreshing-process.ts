import { createClient } from '../../src/client/create-client.js';
import { openConnectionPool } from '../../src/client/fetch/connection-pool.js';
import { refreshingToken } from '../../src/client/tokens/refreshing-token.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { systemRandom } from '../../src/runtime/random.js';
import { type Disk, systemDisk } from '../../src/runtime/replace-file.js';
import { headerNames } from '../../src/wire/headers.js';
import { latestVersion } from '../../src/wire/versions.js';
import { openStore, type SignInPlace } from './refresh-store.js';

/* Refreshes the tokens of a stored sign-in, reads a page with them, and kills itself at the given step. */
const [baseUrl = '', told = '', step = '', when = ''] = process.argv.slice(2);
const place = JSON.parse(told) as SignInPlace;

const die = (): Promise<never> => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
};
const dying =
  (name: string) =>
  async <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (step === name && when === 'before') await die();
    const result = await work();
    if (step === name && when === 'after') await die();
    return result;
  };
const disk: Disk = {
  write: (file, text) => dying('write')(() => systemDisk.write(file, text)),
  sync: (file) => dying('sync')(() => systemDisk.sync(file)),
  rename: (from, to) => dying('rename')(() => systemDisk.rename(from, to)),
  syncFolder: (folder) => dying('syncFolder')(() => systemDisk.syncFolder(folder)),
};

const pool = openConnectionPool();
const client = createClient({
  baseUrl,
  version: latestVersion,
  names: headerNames(),
  wire: (url, init) =>
    dying(url.pathname.endsWith('/oauth/token') ? 'ask' : 'use')(() => pool.fetch(url, init)),
  clock: systemClock,
  random: systemRandom,
  logger: silentLogger,
  budgets: { load: async () => null, save: async () => {} },
  requestsPerHour: null,
  retry: { failuresMax: 2, rateLimitsMax: 0, backoff: { baseMillis: 5, capMillis: 10 }, waitMillisMax: 10 },
});
const { store, close } = openStore(place, disk);
const tokens = refreshingToken({
  // Of a write to the vault, only its begin and its end are steps of this process.
  store:
    place.kind === 'file'
      ? store
      : { ...store, write: (credentials) => dying('write')(() => store.write(credentials)) },
  application: client.asApplication,
  clock: systemClock,
  logger: silentLogger,
});
const { signal } = new AbortController();
await tokens.renew((await store.read()).accessToken, signal);
await client.as(tokens)({ path: '/installations', signal });
await pool.close();
await close();
