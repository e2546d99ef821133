import { type Client, createClient } from '../client/create-client.js';
import { openConnectionPool } from '../client/fetch/connection-pool.js';
import type { WireFetch } from '../client/fetch/fetch.js';
import type { BudgetStore } from '../client/ports.js';
import { refreshingToken } from '../client/tokens/refreshing-token.js';
import { staticToken, storedToken } from '../client/tokens/static-token.js';
import type { TokenProvider } from '../client/tokens/token-provider.js';
import type { Access, Config } from '../config/config.js';
import { Fault, isFault } from '../domain/fault.js';
import { shellWord } from '../domain/shell-word.js';
import { authoritiesIn, untimely } from '../runtime/authority.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import { readNamedFile } from '../runtime/named-file.js';
import { proxiesOf } from '../runtime/proxy.js';
import type { Random } from '../runtime/random.js';
import type { Vault } from '../vault/ports.js';
import { credentialsAt } from './credentials-at.js';

export interface PlatformParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly budgets: BudgetStore;
  /** For sign-ins and tokens that rosterd keeps there. */
  readonly vault: Vault;
  /** Replaces the network in tests. */
  readonly wire?: WireFetch;
  /** Called before every request, retries included. Throwing prevents the request. */
  readonly beforeCall?: () => void;
}

export interface PlatformConnection {
  readonly client: Client;
  /** Returns the token provider of an access; the same one for every call. */
  tokensOf(access: Access): TokenProvider;
  /** Drops the token provider of an access that is no longer used. */
  forget(access: Access): void;
  close(): Promise<void>;
}

/** Returns one client for all sources: they share connections, request budgets and the measured platform time. */
export function connectPlatform({ platform, proxy }: Config, parts: PlatformParts): PlatformConnection {
  const { clock, random, logger, budgets, vault } = parts;
  const pool =
    parts.wire === undefined
      ? openConnectionPool({
          connectMillis: platform.connectTimeoutMillis,
          headersMillis: platform.requestTimeoutMillis,
          bodyMillis: platform.requestTimeoutMillis,
          extraCa: platform.caFile === null ? null : readAuthority(platform.caFile, parts),
          proxyFor: proxiesOf(proxy),
        })
      : { fetch: parts.wire, close: async () => {} };
  const client = createClient({
    baseUrl: platform.baseUrl,
    version: platform.version,
    names: platform.headers,
    timeoutMillis: platform.requestTimeoutMillis,
    requestsPerHour: platform.requestsPerHour,
    wire: parts.beforeCall === undefined ? pool.fetch : announced(pool.fetch, parts.beforeCall),
    clock,
    random,
    logger,
    budgets,
  });
  const providers = new Map<Access, TokenProvider>();
  const providerOf = (access: Access): TokenProvider => {
    if (access.kind === 'token') return staticToken(() => access.token.reveal());
    if (access.kind === 'stored') return storedToken(vault, access.key);
    const { at, clientSecret } = access;
    return refreshingToken({
      store: credentialsAt(at, vault, clock),
      application: client.asApplication,
      clock,
      logger,
      ...(clientSecret === null ? {} : { clientSecret: () => clientSecret.reveal() }),
    });
  };
  return {
    client,
    tokensOf: (access) => {
      const provider = providers.get(access) ?? providerOf(access);
      providers.set(access, provider);
      return provider;
    },
    forget: (access) => void providers.delete(access),
    close: () => pool.close(),
  };
}

function announced(wire: WireFetch, beforeCall: () => void): WireFetch {
  return async (url, init) => {
    beforeCall();
    return await wire(url, init);
  };
}

/** Returns the certificates of `platform.ca`. Warns about those not valid now, which would explain TLS failures. */
function readAuthority(file: string, { clock, logger }: Pick<PlatformParts, 'clock' | 'logger'>): string {
  const { pem, authorities } = authorityOf(file);
  for (const hint of untimely(authorities, clock.now()))
    logger.warn({ file, hint }, 'a certificate in platform.ca is not valid now');
  return pem;
}

/** Reads the file of `platform.ca`. Throws `usage` when it cannot be read or contains no certificate. */
export function authorityOf(file: string) {
  let pem: string;
  try {
    pem = readNamedFile(file, `platform.ca: ${file}`);
  } catch (cause) {
    if (isFault(cause)) throw cause;
    throw new Fault('usage', `platform.ca: ${file} cannot be read`, {
      hint: 'point it at a PEM file this user may read, or remove it',
      cause,
    });
  }
  const authorities = authoritiesIn(pem);
  if (typeof authorities === 'string')
    throw new Fault('usage', `platform.ca: ${file} ${authorities}`, {
      hint: `look into it: openssl x509 -in ${shellWord(file)} -noout -subject -dates`,
    });
  return { pem, authorities };
}
