import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileCredentials } from '../../../src/client/tokens/credential-store.js';
import { type Credentials, writeCredentials } from '../../../src/client/tokens/credentials-file.js';
import { refreshingToken } from '../../../src/client/tokens/refreshing-token.js';
import type { TokenProvider } from '../../../src/client/tokens/token-provider.js';
import type { Instant } from '../../../src/domain/instant.js';
import type { Clock } from '../../../src/runtime/clock.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { type Disk, systemDisk } from '../../../src/runtime/replace-file.js';
import { FakeClock } from '../fake-clock.js';
import type { TokenServer } from './token-server.js';

export const stored: Credentials = {
  clientId: 'pk_test_1',
  clientSecret: 'sk_test_1',
  accessToken: 'at_old',
  refreshToken: 'rt_0',
  previousRefreshToken: null,
  expiresAt: '2026-11-20T12:10:00.000Z' as Instant,
  scope: 'read:investments',
};

export interface SignIn {
  /** The test deletes it. */
  readonly folder: string;
  readonly path: string;
  readonly clock: FakeClock;
  /** Returns a process that uses the sign-in, on a disk and with a clock of its own for the lock if need be. */
  readonly provider: (server: TokenServer, disk?: Disk, lockClock?: Clock) => TokenProvider;
}

/** Stores a sign-in that expires in ten minutes in a folder of its own. */
export async function openSignIn(): Promise<SignIn> {
  const folder = await mkdtemp(join(tmpdir(), 'rosterd-tokens-'));
  const path = join(folder, 'credentials.json');
  const clock = new FakeClock();
  await writeCredentials(path, stored);
  return {
    folder,
    path,
    clock,
    provider: (server, disk = systemDisk, lockClock = clock) => {
      const store = fileCredentials(path, lockClock, disk);
      return refreshingToken({ store, application: () => server.api(clock), clock, logger: silentLogger });
    },
  };
}
