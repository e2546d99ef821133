import { hostname } from 'node:os';
import type { WireFetch } from '../client/fetch/fetch.js';
import type { Config, SourceConfig } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import { type Closable, Lifecycle } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { type Random, randomText } from '../runtime/random.js';
import { createSync, type Sync } from '../sync/create-sync.js';
import { connectPlatform, type PlatformConnection } from './connect-platform.js';
import { noticeHooks } from './notices.js';
import { leaseMillis, type OpenMirror, openMirror } from './open-mirror.js';
import { type PageListener, syncSources } from './sync-sources.js';

export interface EngineParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Only these, of the configured sources; all unless given. */
  readonly sources?: readonly SourceConfig[];
  readonly onPage?: PageListener;
  readonly wire?: WireFetch;
  /** Told of every request before it goes out; by throwing it keeps it back. */
  readonly beforeCall?: () => void;
}

/** The mirror, the platform and the sync engine between them: what `run`, `sync` and the library have in common. */
export interface Engine extends Closable {
  readonly mirror: OpenMirror;
  readonly platform: PlatformConnection;
  readonly sync: Sync;
}

/** A failing platform is asked less and less, but at least every five minutes. */
const backoff = { baseMillis: 1_000, capMillis: 5 * 60_000 };

export async function startEngine(parts: EngineParts): Promise<Engine> {
  const { config, clock, random, logger } = parts;
  const lifecycle = new Lifecycle();
  try {
    const mirror = openMirror(config.database, {
      clock,
      logger,
      identity: config.identity,
      ...given('notices', noticeHooks(config)),
    });
    lifecycle.add('mirror', mirror.close);
    const platform = connectPlatform(config, {
      ...{ clock, random, logger, budgets: mirror.budgets },
      ...given('wire', parts.wire),
      ...given('beforeCall', parts.beforeCall),
    });
    lifecycle.add('platform', platform.close);
    const sync = createSync({
      sources: await syncSources(config, parts.sources ?? config.sources, platform, parts.onPage),
      mirror: mirror.mirror,
      holder: `${hostname()}:${process.pid}:${randomText(random, 8)}`,
      ...{ clock, random, logger: logger.child({ component: 'sync' }) },
      options: {
        intervalMillis: config.sync.intervalSeconds * 1_000,
        concurrency: config.sync.concurrency,
        brake: config.sync.brake,
        backoff,
        leaseRenewMillis: leaseMillis / 3,
      },
    });
    lifecycle.add('sync', () => sync.close());
    return { mirror, platform, sync, close: () => lifecycle.close() };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

function given<Name extends string, Value>(name: Name, value: Value | undefined): { [Key in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: Value };
}
