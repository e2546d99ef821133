import type { Api } from '../client/api.js';
import type { Quota } from '../client/budgets.js';
import type { Catalog, Found, Lookup } from '../dimensions/ports.js';
import { defined } from '../domain/defined.js';
import { Fault, isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { Interruption } from '../runtime/interruption.js';
import { rateLimits } from '../wire/limits.js';

export interface CatalogParts {
  /** The API with the source's token. */
  readonly api: Api;
  /** The API with the application's publishable key; null when the configuration has none. */
  readonly publicApi: Api | null;
  /** What is left of the token's quota; null while unknown. */
  readonly quota: () => Promise<Quota | null>;
  /** Null for a platform without limits. */
  readonly pace: CatalogPace | null;
}

/** Companies and rounds are not read while less than this share of the hourly quota is left: it is for investments. */
const quotaShareMin = 0.25;

/**
 * Reads companies and rounds with the source's token, and with the publishable key what the token has no scope for.
 * A refusal is a result; every failure that may pass throws, also a quota that should be left to investments.
 */
export function createCatalog({ api, publicApi, quota, pace }: CatalogParts): Catalog {
  const look = async (lookup: Lookup, signal: Interruption): Promise<Found> => {
    const left = await quota();
    if (left !== null && left.left < left.limit * quotaShareMin)
      throw new Fault('rate_limited', 'the rest of the quota is left to investments', {
        retryAt: left.resetsAt,
      });
    const found = await ask(api, lookup, pace, signal);
    if (found.kind !== 'unavailable' || !found.forbidden || lookup.isPublic !== true || publicApi === null)
      return found;
    return await ask(publicApi, lookup, pace, signal);
  };
  return { look };
}

async function ask(api: Api, lookup: Lookup, pace: CatalogPace | null, signal: Interruption): Promise<Found> {
  const { path, params, query, etag } = lookup;
  if (lookup.catalog === true) await pace?.turn(signal);
  if (signal.aborted) throw new Fault('stopped', 'stopped before the end');
  try {
    const { status, body } = await api({
      path,
      ...defined({ params, query, etag }),
      signal,
    });
    return status === 304 ? { kind: 'same' } : { kind: 'found', body };
  } catch (error) {
    // Without an error type it is not the platform that answered, but a gateway: nothing is known of the company.
    if (!isFault(error, 'refused') && !isFault(error, 'forbidden')) throw error;
    const { status, type, details } = error.about;
    const removed = details?.removed_in_version;
    if (status === 404 && typeof removed === 'string')
      return { kind: 'unavailable', reason: `removed in version ${printable(removed)}`, forbidden: true };
    if (status === 404 || status === 403)
      return {
        kind: 'unavailable',
        reason: `${status} ${type}`,
        forbidden: status === 403,
      };
    throw error;
  }
}

const printable = (version: string): string => (/^[\w.-]{1,40}$/.test(version) ? version : 'unknown');

/** Reads that may be sent at once, and the time between two of them afterwards. */
const burst = rateLimits.catalogIp.limit / 4;
const gapMillis = (rateLimits.catalogIp.seconds * 1000) / (rateLimits.catalogIp.limit - burst);

/** Spaces out reads that the platform counts per address, so that no window of its limit can be exceeded. */
export class CatalogPace {
  #left = burst;
  #at: number;

  constructor(private readonly clock: Clock) {
    this.#at = clock.monotonic();
  }

  /** Resolves when the next read may be sent. */
  async turn(signal: Interruption): Promise<void> {
    const now = this.clock.monotonic();
    this.#left = Math.min(burst, this.#left + (now - this.#at) / gapMillis) - 1;
    this.#at = now;
    if (this.#left < 0) await this.clock.wait(-this.#left * gapMillis, signal);
  }
}
