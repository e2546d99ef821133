import { staticToken } from '../client/tokens/static-token.js';
import type { Config, SourceConfig } from '../config/config.js';
import { createDimensions, type Dimensions } from '../dimensions/create-dimensions.js';
import type { SourceParts } from '../dimensions/listing-plan.js';
import type { DimensionStore, Names } from '../dimensions/ports.js';
import type { SourceName } from '../domain/ids.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import type { FeedPage, Mirror } from '../sync/ports.js';
import { rateLimits } from '../wire/limits.js';
import { CatalogPace, createCatalog } from './catalog.js';
import type { PlatformConnection } from './connect-platform.js';

export interface DimensionsOptions {
  readonly config: Config;
  readonly sources: readonly SourceConfig[];
  readonly platform: PlatformConnection;
  readonly store: DimensionStore;
  readonly onNames: (source: SourceName, names: Names) => void;
  /** Returns for how many milliseconds the requests of the address are left to investments. */
  readonly catalogWait: () => number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface OpenDimensions {
  /** Keeps companies and rounds in step; null when the configuration disables it. */
  readonly dimensions: Dimensions | null;
  /** Binds a source that is added later to its token. */
  readonly partsOf: SourcePartsOf;
}

export type SourcePartsOf = (source: SourceConfig) => SourceParts;

export function openDimensions(options: DimensionsOptions): OpenDimensions {
  const partsOf = bindSources(options);
  const seconds = options.config.sync.catalogIntervalSeconds;
  if (seconds === null) return { dimensions: null, partsOf };
  const dimensions = createDimensions({
    sources: options.sources.map(partsOf),
    store: options.store,
    onNames: options.onNames,
    clock: options.clock,
    random: options.random,
    logger: options.logger.child({ component: 'catalog' }),
    intervalMillis: seconds * 1000,
  });
  return { dimensions, partsOf };
}

function bindSources({ config, platform, clock, catalogWait }: DimensionsOptions): SourcePartsOf {
  const key = config.platform.publishableKey;
  const publicApi = key === null ? null : platform.client.besides(staticToken(() => key));
  const pace = config.platform.requestsPerHour === null ? null : new CatalogPace(clock);
  return ({ name, access, company, installation, filters }) => {
    const tokens = platform.tokensOf(access);
    return {
      name,
      company: company ?? filters.companyId ?? null,
      offering: filters.offeringId ?? null,
      isPersonal: company === null && installation === null && filters.companyId === undefined,
      catalog: createCatalog({
        api: platform.client.besides(tokens),
        publicApi,
        quota: async () => {
          const wait = catalogWait();
          if (wait <= 0) return await platform.client.quotaOf(tokens);
          return { limit: rateLimits.ip.limit, left: 0, resetsAt: instantFromMillis(clock.now() + wait) };
        },
        pace,
      }),
    };
  };
}

/** Returns the rounds that these records name. */
export function roundsOf(items: FeedPage['items']): ReadonlySet<string> {
  const rounds = new Set<string>();
  for (const item of items)
    if (item.kind === 'record' && item.investment.offering_id !== null)
      rounds.add(item.investment.offering_id);
  return rounds;
}

/** Returns the mirror, which also reports the rounds of each page that was stored. Costs a tick no statement. */
export function reportingRounds(
  mirror: Mirror,
  onRounds: (source: SourceName, rounds: Iterable<string>) => void,
): Mirror {
  const stored = (source: SourceName, { items }: FeedPage) => {
    const rounds = roundsOf(items);
    if (rounds.size > 0) onRounds(source, rounds);
  };
  return new Proxy(mirror, {
    get: (_, property) => {
      const value: unknown = Reflect.get(mirror, property, mirror);
      if (typeof value !== 'function') return value;
      if (property !== 'applyPage' && property !== 'addListingPage') return value.bind(mirror);
      return async (...args: Parameters<Mirror['applyPage']>) => {
        const result: unknown = await Reflect.apply(value, mirror, args);
        stored(args[0].source, args[1]);
        return result;
      };
    },
  });
}
