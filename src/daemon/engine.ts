import type { WireFetch } from '../client/fetch/fetch.js';
import type { Config, SourceConfig } from '../config/config.js';
import { sharesFor, sharesWanted } from '../config/request-shares.js';
import type { Dimensions } from '../dimensions/create-dimensions.js';
import { defined } from '../domain/defined.js';
import { type OpenVault, openVault } from '../reading/open-vault.js';
import type { Clock } from '../runtime/clock.js';
import { HealthRegister } from '../runtime/health-register.js';
import { type Closable, Lifecycle } from '../runtime/lifecycle.js';
import type { LogTail } from '../runtime/log-tail.js';
import type { Logger } from '../runtime/logger.js';
import { processName } from '../runtime/process-identity.js';
import { type Random, randomText } from '../runtime/random.js';
import { readLastTicks } from '../store/reads/last-ticks.js';
import { inSnapshot } from '../store/reads/snapshot.js';
import { createSync } from '../sync/create-sync.js';
import { listingWait } from '../sync/listing-wait.js';
import type { SyncSource } from '../sync/ports.js';
import type { Sync } from '../sync/sync.js';
import { connectPlatform, type PlatformConnection } from './connect-platform.js';
import { type DatabaseReturn, watchReturn } from './database-return.js';
import { ForgottenLedger } from './forgotten-ledger.js';
import { leaseMillis, type OpenMirror } from './mirror-parts.js';
import { NameBook } from './name-book.js';
import { noticeHooks } from './notices.js';
import { openMirror } from './open-mirror.js';
import { createSourceSet, type SourceSet } from './source-set.js';
import { dimensionSources, openDimensions, reportingRounds } from './start-dimensions.js';
import { type PageListener, syncSource } from './sync-sources.js';
import { WorkWatch } from './work-watch.js';

export interface EngineParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The last lines that `logger` wrote. */
  readonly tail?: LogTail;
  /** The sources to sync (default: all configured ones). */
  readonly sources?: readonly SourceConfig[];
  readonly onPage?: PageListener;
  readonly wire?: WireFetch;
  /** Replaces `openMirror` in tests. */
  readonly openMirror?: typeof openMirror;
  /** Called before every request. Throwing prevents the request. */
  readonly beforeCall?: () => void;
  /** False where requests are counted: ticks then do not check what the tokens may read. */
  readonly asksGrants?: boolean;
}

/** The mirror, the platform and the sync engine between them, as `run`, `sync` and the library use them. */
export interface Engine extends Closable {
  readonly mirror: OpenMirror;
  readonly platform: PlatformConnection;
  /** The secrets that rosterd writes itself. */
  readonly vault: OpenVault;
  readonly sync: Sync;
  /** The sources now: the configured ones, and those that came since. */
  readonly sources: SourceSet;
  /** Keeps companies and rounds in step; null when the configuration disables it. */
  readonly dimensions: Dimensions | null;
  /** The problems this process knows of itself. */
  readonly health: HealthRegister;
  readonly watch: WorkWatch;
  /** Adds a listener for the return of the database. The sources are woken in any case. */
  onDatabaseBack(listener: () => void): void;
  /** The name of this process in leases and in the fleet. */
  readonly holder: string;
}

/** A failing platform is retried with growing waits, at least every five minutes. */
const backoff = { baseMillis: 1_000, capMillis: 5 * 60_000 };

export async function startEngine(parts: EngineParts): Promise<Engine> {
  const { config, clock, random, logger } = parts;
  const lifecycle = new Lifecycle();
  try {
    const health = new HealthRegister();
    let back: DatabaseReturn | null = null;
    const watch = new WorkWatch({
      register: health,
      clock,
      onAway: () => back?.away(),
      onWorks: () => back?.works(),
    });
    const names = new NameBook();
    const opened = await (parts.openMirror ?? openMirror)(config.database, {
      clock,
      logger,
      identity: config.identity,
      ledger: new ForgottenLedger(config.forget.ledger),
      ...defined({ notices: noticeHooks(config, names.of) }),
    });
    lifecycle.add('mirror', () => opened.close());
    const mirror = watch.over(opened);
    lifecycle.add('health of the database', () => watch.close());
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
    const prepareSync = async (source: SourceConfig): Promise<SyncSource> => {
      if (config.notices.length > 0)
        names.learn(source.name, (await mirror.dimensions.state(source.name)).names);
      const { mayReadIdentity, ...rest } = await syncSource(config, source, platform, parts.onPage);
      return parts.asksGrants === false ? rest : { ...rest, ...defined({ mayReadIdentity }) };
    };
    const sources: SyncSource[] = [];
    for (const source of listed) sources.push(await prepareSync(source));
    const wanted = sharesWanted(config);
    const shares = (count: number) => sharesFor(count, wanted);
    let countNow = () => listed.length;
    const catalogWait = () => {
      const { timed } = shares(countNow());
      const kept = timed && { ...timed, forWebhooks: timed.forWebhooks + timed.forListings };
      return listingWait(kept, platform.client.addressLeft());
    };
    const partsOf = dimensionSources({ config, platform, clock, catalogWait });
    const dimensions = openDimensions(
      {
        config,
        platform,
        clock,
        random,
        logger,
        sources: listed,
        store: mirror.dimensions,
        onNames: names.learn,
      },
      partsOf,
    );
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
      options: {
        intervalMillis: config.sync.intervalSeconds * 1_000,
        idleIntervalMillis: config.sync.idleIntervalSeconds * 1_000,
        concurrency: config.sync.concurrency,
        brake: config.sync.brake,
        backoff,
        leaseRenewMillis: leaseMillis / 3,
        quiet: config.sync.quietHours,
        shares,
      },
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
    const listeners = [() => sync.databaseIsBack()];
    if (opened.server !== null) {
      back = watchReturn({
        ask: opened.server.ask,
        clock,
        logger: logger.child({ component: 'database' }),
        onBack: () => {
          for (const listener of listeners) listener();
        },
      });
      lifecycle.add('database probe', back.close);
    }
    return {
      mirror,
      platform,
      vault,
      sync,
      sources: sourceSet,
      dimensions,
      health,
      watch,
      holder,
      onDatabaseBack: (listener) => void listeners.push(listener),
      close: () => lifecycle.close(),
    };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}
