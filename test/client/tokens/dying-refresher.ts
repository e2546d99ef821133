import { createClient } from '../../../src/client/create-client.js';
import { openConnectionPool } from '../../../src/client/fetch/connection-pool.js';
import { fileCredentials } from '../../../src/client/tokens/credential-store.js';
import { refreshingToken } from '../../../src/client/tokens/refreshing-token.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { systemRandom } from '../../../src/runtime/random.js';
import { type Disk, systemDisk } from '../../../src/runtime/replace-file.js';
import { headerNames } from '../../../src/wire/headers.js';

/* A process that refreshes a token and kills itself, as a power cut would, before or after one file operation. */
const [baseUrl = '', path = '', step = '', when = ''] = process.argv.slice(2);

const die = async (): Promise<never> => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
};
const disk: Disk =
  step === 'never'
    ? systemDisk
    : {
        ...systemDisk,
        [step]: async (a: string, b: string) => {
          if (when === 'before') await die();
          await systemDisk[step as keyof Disk](a, b);
          await die();
        },
      };
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
  store: fileCredentials(path, systemClock, disk),
  application: client.asApplication,
  clock: systemClock,
  logger: silentLogger,
});
process.stdout.write(await tokens.renew('at_old', new AbortController().signal));
await pool.close();
