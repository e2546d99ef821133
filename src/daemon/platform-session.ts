import type { Api } from '../client/api.js';
import type { Client } from '../client/create-client.js';
import type { WireFetch } from '../client/fetch/fetch.js';
import type { BudgetStore } from '../client/ports.js';
import type { Access, Config } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import { connectPlatform } from './connect-platform.js';

export interface SessionParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly wire?: WireFetch;
}

/** The platform without a mirror, for one-shot commands. */
export interface PlatformSession extends Closable {
  readonly client: Client;
  as(access: Access): Api;
}

/** Request budgets are not stored: a few requests are not worth a database, and the platform's 429 is the backstop. */
const unkept: BudgetStore = { load: async () => null, save: async () => {} };

export function openSession({ config, ...parts }: SessionParts): PlatformSession {
  const connection = connectPlatform(config, { ...parts, budgets: unkept });
  return {
    client: connection.client,
    as: (access) => connection.client.as(connection.tokensOf(access)),
    close: () => connection.close(),
  };
}
