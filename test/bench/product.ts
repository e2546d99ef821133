import type { Config } from '../../src/config/config.js';
import { configFrom } from '../../src/config/config-from.js';
import { settingsSchema } from '../../src/config/settings.js';
import { type Engine, type EngineParts, startEngine } from '../../src/daemon/engine.js';
import type { SourceName } from '../../src/domain/ids.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { systemRandom } from '../../src/runtime/random.js';

export const productFile = 'product.db';

/** The source name in the documented queries. */
export const benchSource = 'acme' as SourceName;

/** The engine as `rosterd run` builds it, against the feed of `feed-server.ts`. */
export async function openProduct(
  baseUrl: string,
  folder: string,
  parts: Partial<EngineParts> & { readonly database?: string } = {},
): Promise<Engine> {
  const { database = `sqlite:${productFile}`, ...others } = parts;
  const config = productConfig(baseUrl, folder, database);
  return await startEngine({
    config,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    ...others,
  });
}

export function productConfig(baseUrl: string, folder: string, database: string, more: object = {}): Config {
  const settings = settingsSchema.parse({
    platform: { baseUrl, requestsPerHour: null },
    database,
    sources: [
      { name: benchSource, token: 'at_test_benchbenchbenchbenchbenchbenchbenchbench', company: 'co_bench' },
    ],
    ...more,
  });
  return configFrom(settings, { env: {}, folderOf: () => folder });
}

export async function tickOf(engine: Engine, resync = false): Promise<void> {
  const { report } = await engine.sync.tick(benchSource, { resync });
  if (report.outcome !== 'done') throw new Error(`the tick ended ${report.outcome}: ${report.message ?? ''}`);
}
