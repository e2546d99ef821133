import { configFrom } from '../../src/config/config.js';
import { settingsSchema } from '../../src/config/settings.js';
import { type Engine, startEngine } from '../../src/daemon/engine.js';
import type { SourceName } from '../../src/domain/ids.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { systemRandom } from '../../src/runtime/random.js';

export const benchSource = 'bench' as SourceName;

/** The engine as `rosterd run` builds it, against the feed of `feed-server.ts`. */
export async function openProduct(baseUrl: string, folder: string): Promise<Engine> {
  const settings = settingsSchema.parse({
    platform: { baseUrl, requestsPerHour: null },
    database: 'sqlite:product.db',
    sources: [
      { name: benchSource, token: 'at_test_benchbenchbenchbenchbenchbenchbenchbench', company: 'co_bench' },
    ],
  });
  const config = configFrom(settings, { env: {}, folderOf: () => folder });
  return await startEngine({ config, clock: systemClock, random: systemRandom, logger: silentLogger });
}

export async function tickOf(engine: Engine, resync = false): Promise<void> {
  const { report } = await engine.sync.tick(benchSource, { resync });
  if (report.outcome !== 'done') throw new Error(`the tick ended ${report.outcome}: ${report.message ?? ''}`);
}
