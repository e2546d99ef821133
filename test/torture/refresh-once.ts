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

/** Runs one step of a refresh; a process that is to be killed ends before or after it. */
export type Step = <Value>(name: string, work: () => Promise<Value>) => Promise<Value>;

/** Refreshes the tokens of a stored sign-in and reads a page with them. */
export async function refreshOnce(baseUrl: string, place: SignInPlace, step: Step): Promise<void> {
  const disk: Disk = {
    write: (file, text) => step('write', () => systemDisk.write(file, text)),
    sync: (file) => step('sync', () => systemDisk.sync(file)),
    rename: (from, to) => step('rename', () => systemDisk.rename(from, to)),
    syncFolder: (folder) => step('syncFolder', () => systemDisk.syncFolder(folder)),
  };
  const pool = openConnectionPool();
  const client = createClient({
    baseUrl,
    version: latestVersion,
    names: headerNames(),
    wire: (url, init) =>
      step(url.pathname.endsWith('/oauth/token') ? 'ask' : 'use', () => pool.fetch(url, init)),
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    budgets: { load: async () => null, save: async () => {} },
    requestsPerHour: null,
    retry: { failuresMax: 2, rateLimitsMax: 0, backoff: { baseMillis: 5, capMillis: 10 }, waitMillisMax: 10 },
  });
  const { store, close } = await openStore(place, disk);
  const tokens = refreshingToken({
    // Of a write to the vault, only its begin and its end are steps of this process.
    store:
      place.kind === 'file'
        ? store
        : { ...store, write: (credentials) => step('write', () => store.write(credentials)) },
    application: client.asApplication,
    clock: systemClock,
    logger: silentLogger,
  });
  const { signal } = new AbortController();
  try {
    await tokens.renew((await store.read()).accessToken, signal);
    await client.as(tokens)({ path: '/installations', signal });
  } finally {
    await pool.close();
    await close();
  }
}
