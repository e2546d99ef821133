import type { Api } from '../client/api.js';
import type { Client } from '../client/create-client.js';
import type { WireFetch } from '../client/fetch/fetch.js';
import type { BudgetStore } from '../client/ports.js';
import type { Access, Config } from '../config/config.js';
import { openVault } from '../reading/open-vault.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import type { Vault } from '../vault/ports.js';
import { connectPlatform } from './connect-platform.js';
import { credentialsAt } from './credentials-at.js';

export interface SessionParts {
  readonly config: Config;
  /** The vault of the configuration, when it is open already. The session does not close it. */
  readonly vault?: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly wire?: WireFetch;
}

/** The platform without a mirror, for one-shot commands. */
export interface PlatformSession extends Closable {
  readonly client: Client;
  readonly vault: Vault;
  as(access: Access): Api;
  /** Returns the token of an access as it is stored: a check must not spend a refresh token. */
  storedToken(access: Access): Promise<string>;
}

/** Request budgets are not stored: a few requests are not worth a database, and the platform's 429 is the backstop. */
const unkept: BudgetStore = { load: async () => null, save: async () => {} };

const never = new AbortController().signal;

export function openSession({ config, ...parts }: SessionParts): PlatformSession {
  const own = openVault(config, parts);
  const vault = parts.vault ?? own;
  const connection = connectPlatform(config, { ...parts, vault, budgets: unkept });
  return {
    client: connection.client,
    vault,
    as: (access) => connection.client.as(connection.tokensOf(access)),
    storedToken: async (access) =>
      access.kind === 'credentials'
        ? (await credentialsAt(access.at, vault, parts.clock).read()).accessToken
        : await connection.tokensOf(access).current(never),
    close: async () => {
      await connection.close();
      await own.close();
    },
  };
}
