import type { WireFetch } from '../client/fetch/fetch.js';
import type { Config, SourceConfig } from '../config/config.js';
import { type SharedRequests, sharesFor, sharesWanted } from '../config/request-shares.js';
import type { Dimensions } from '../dimensions/create-dimensions.js';
import { defined } from '../domain/defined.js';
import type { SourceName } from '../domain/ids.js';
import { type OpenVault, openVault } from '../reading/open-vault.js';
import { type Closable, Lifecycle } from '../runtime/lifecycle.js';
import type { LogTail } from '../runtime/log-tail.js';
import { processName } from '../runtime/process-identity.js';
import { type Random, randomText } from '../runtime/random.js';
import { readLastTicks } from '../store/reads/last-ticks.js';
import { inSnapshot } from '../store/reads/snapshot.js';
import { createSync } from '../sync/create-sync.js';
import { listingWait } from '../sync/listing-wait.js';
import type { SyncSource } from '../sync/ports.js';
import type { Sync, SyncOptions } from '../sync/sync.js';
import type { BudgetLeft } from '../sync/webhook-spacing.js';
import { connectPlatform, type PlatformConnection } from './connect-platform.js';
import { leaseMillis } from './mirror-parts.js';
import { NameBook } from './name-book.js';
import { createSourceSet, type SourceSet } from './source-set.js';
import { openDimensions, reportingRounds } from './start-dimensions.js';
import { type CountListener, type PageListener, syncSource } from './sync-sources.js';
import { openWatchedMirror, type WatchedMirror, type WatchedMirrorParts } from './watched-mirror.js';

export interface EngineParts extends WatchedMirrorParts {
  readonly random: Random;
  /** The last lines that `logger` wrote. */
  readonly tail?: LogTail;
  /** The sources to sync (default: all configured ones). */
  readonly sources?: readonly SourceConfig[];
  readonly onPage?: PageListener;
  readonly onCount?: CountListener;
  readonly wire?: WireFetch;
  /** Called before every request. Throwing prevents the request. */
  readonly beforeCall?: () => void;
  /** False where requests are counted: ticks then do not check what the tokens may read. */
  readonly asksGrants?: boolean;
}

/** The mirror, the platform and the sync engine between them, as `run`, `sync` and the library use them. */
export interface Engine extends WatchedMirror, Closable {
  readonly platform: PlatformConnection;
  /** The secrets that rosterd writes itself. */
  readonly vault: OpenVault;
  readonly sync: Sync;
  /** The sources now: the configured ones, and those that came since. */
  readonly sources: SourceSet;
  /** Keeps companies and rounds in step; null when the configuration disables it. */
  readonly dimensions: Dimensions | null;
  /** Reads again what the companies and rounds of these sources are called, for notices: another process may have listed them. */
  learnNames(sources: readonly SourceName[]): Promise<void>;
  /** The name of this process in leases and in the fleet. */
  readonly holder: string;
}

/** A failing platform is retried with growing waits, at least every five minutes. */
const backoff = { baseMillis: 1_000, capMillis: 5 * 60_000 };

/** Opens the parts in dependency order. A failure closes those already open. */
export async function startEngine(parts: EngineParts): Promise<Engine> {
  const { config, clock, random, logger } = parts;
  const lifecycle = new Lifecycle();
  try {
    const names = new NameBook();
    const watched = await openWatchedMirror(parts, names, lifecycle);
    const { mirror, watch } = watched;
    const vault = openVault(config, { clock, random });
    lifecycle.add('vault', () => vault.close());
    // A daemon that cannot read its secrets does not start.
    await (await vault.encrypted())?.checkKeys();
    const platform = connectPlatform(config, {
      vault,
      clock,
      random,
      logger,
      budgets: mirror.budgets,
      ...defined({ wire: parts.wire, beforeCall: parts.beforeCall }),
    });
    lifecycle.add('platform', platform.close);
    const listed = parts.sources ?? config.sources;
    const learnNames = async (of: readonly SourceName[]): Promise<void> => {
      if (config.notices.length === 0) return;
      for (const source of of) names.learn(source, (await mirror.dimensions.state(source)).names);
    };
    const prepareSync = async (source: SourceConfig): Promise<SyncSource> => {
      await learnNames([source.name]);
      const { mayReadIdentity, ...rest } = await syncSource(
        config,
        source,
        platform,
        parts.onPage,
        parts.onCount,
      );
      return parts.asksGrants === false ? rest : { ...rest, ...defined({ mayReadIdentity }) };
    };
    const sources: SyncSource[] = [];
    for (const source of listed) sources.push(await prepareSync(source));
    const wanted = sharesWanted(config);
    const shares = (count: number) => sharesFor(count, wanted);
    let countNow = () => listed.length;
    const { dimensions, partsOf } = openDimensions({
      config,
      platform,
      clock,
      random,
      logger,
      sources: listed,
      store: mirror.dimensions,
      onNames: names.learn,
      catalogWait: () => catalogWait(shares(countNow()), platform.client.addressLeft()),
    });
    if (dimensions !== null) lifecycle.add('catalog', () => dimensions.close());
    const holder = `${processName()}:${randomText(random, 8)}`;
    const sync = createSync({
      sources,
      mirror:
        dimensions === null
          ? mirror.mirror
          : reportingRounds(mirror.mirror, (source, rounds) => dimensions.invested(source, rounds)),
      addressLeft: () => platform.client.addressLeft(),
      lastTicks: (names) => inSnapshot(config.database, (ask) => readLastTicks(ask, names)),
      holder,
      clock,
      random,
      logger: logger.child({ component: 'sync' }),
      options: { ...syncOptions(config), shares },
    });
    lifecycle.add('sync', () => sync.close());
    sync.onTick((source, result) => watch.ticked(source, result));
    const sourceSet = createSourceSet({
      listed,
      sync,
      dimensions,
      prepare: async (source) => ({ sync: await prepareSync(source), dimensions: partsOf(source) }),
      forget: ({ name, access }) => {
        names.forget(name);
        watch.forget(name);
        platform.forget(access);
      },
    });
    countNow = () => sourceSet.all.length;
    watched.onDatabaseBack(() => sync.databaseIsBack({ hasMissed: watched.mirror.server !== null }));
    return {
      ...watched,
      platform,
      vault,
      sync,
      sources: sourceSet,
      dimensions,
      learnNames,
      holder,
      close: () => lifecycle.close(),
    };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

/** Returns for how long catalogs wait: they leave what webhooks, timed ticks and first listings may use. */
function catalogWait({ timed }: SharedRequests, left: BudgetLeft | null): number {
  const kept = timed && { ...timed, forWebhooks: timed.forWebhooks + timed.forListings };
  return listingWait(kept, left);
}

function syncOptions({ sync }: Config): Omit<SyncOptions, 'shares'> {
  return {
    intervalMillis: sync.intervalSeconds * 1_000,
    idleIntervalMillis: sync.idleIntervalSeconds * 1_000,
    concurrency: sync.concurrency,
    brake: sync.brake,
    backoff,
    leaseRenewMillis: leaseMillis / 3,
    quiet: sync.quietHours,
  };
}
