import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { WireFetch } from '../../../src/client/fetch/fetch.js';
import type { Config, SourceConfig } from '../../../src/config/config.js';
import { configFrom } from '../../../src/config/config-from.js';
import { Secret } from '../../../src/config/secrets.js';
import { settingsSchema } from '../../../src/config/settings.js';
import { type Engine, startEngine } from '../../../src/daemon/engine.js';
import type { CompanyId, InstallationId, SourceName } from '../../../src/domain/ids.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { systemRandom } from '../../../src/runtime/random.js';
import { VirtualClock } from '../../sync/support/virtual-clock.js';
import { Feed, observedAt } from '../feed.js';
import { measure, type Section } from '../measures.js';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Of what a daemon with few sources does in a second, nothing may grow faster than the sources. */
export const sources: Section = {
  name: 'sources',
  each: false,
  says:
    'Ten thousand sources, or one for each record of a smaller run, each with a token of its own, in one process on SQLite. ' +
    'They were read by the process before. The platform answers at once; its requests are counted on a virtual clock.',
  measure: async ({ records: sizes }) => {
    const count = Math.min(10_000, ...sizes);
    const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-sources-'));
    const clock = new VirtualClock(Date.parse(observedAt));
    const feed = new Feed(1, () => clock.now());
    const wire: WireFetch = async (url) =>
      new Response(feed.page(url.searchParams), { headers: { 'content-type': 'application/json' } });
    const config = configOf(folder);
    const all = Array.from({ length: count }, (_, n) => sourceOf(n, folder));
    const open = (unlimited: boolean) =>
      startEngine({
        config: { ...config, platform: { ...config.platform, requestsPerHour: unlimited ? null : 1_000 } },
        clock,
        random: systemRandom,
        logger: silentLogger,
        wire,
      });
    try {
      const first = await open(true);
      await first.sources.add(all);
      const begunAt = performance.now();
      await Promise.all(all.map(({ name }) => first.sync.tick(name)));
      const listed = (performance.now() - begunAt) / count;
      await first.close();

      const before = heapUsed();
      const startedAt = performance.now();
      const engine = await open(false);
      try {
        await engine.sources.add(all);
        const asked = feed.requests;
        engine.sync.start();
        await settle();
        const ready = performance.now() - startedAt;
        const heap = heapUsed() - before;
        const atStart = feed.requests - asked;
        for (let passed = 0; passed < hour; passed += minute) await clock.advance(minute, settle);
        const inHour = feed.requests - asked;
        const event = await eventOf(engine, all);
        return [
          measure(`${count.toLocaleString('en-US')} sources listed, each`, 'ms', [listed]),
          measure('start, until webhooks start ticks', 'ms', [ready], { most: 10_000 }),
          measure('requests right after the start', 'requests', [atStart], { most: 550 }),
          measure('requests in the first hour', 'requests', [inHour], { most: 3_100 }),
          measure('heap of a source', 'B', [heap / count], { most: 20_000 }),
          measure('the sources of an event, found', 'µs', [event], { most: 50 }),
        ];
      } finally {
        await engine.close();
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Waits until what the database answers at once is done. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function eventOf({ sources: set }: Engine, all: readonly SourceConfig[]): Promise<number> {
  const begunAt = performance.now();
  let found = 0;
  for (const { installation, company } of all)
    found += set.concerning({ installation: installation ?? '', company }).length;
  if (found !== all.length) throw new Error(`found ${found} sources instead of ${all.length}`);
  return ((performance.now() - begunAt) * 1_000) / all.length;
}

function configOf(folder: string): Config {
  const settings = settingsSchema.parse({
    platform: { baseUrl: 'http://127.0.0.1:1' },
    database: 'sqlite:sources.db',
    sources: [
      {
        name: 'listed',
        token: 'at_test_benchbenchbenchbenchbenchbenchbenchbench',
        company: 'co_listed',
        installation: 'inst_listed',
      },
    ],
    sync: { catalogIntervalSeconds: null },
    console: null,
  });
  return configFrom(settings, { env: {}, folderOf: () => folder });
}

function sourceOf(n: number, folder: string): SourceConfig {
  const token = new Secret(`token ${n}`, `at_test_${String(n).padStart(40, 'b')}`, { env: {}, folder });
  return {
    name: `s${n}` as SourceName,
    access: { kind: 'token', token },
    company: `co_${n}` as CompanyId,
    installation: `inst_${n}` as InstallationId,
    filters: {},
  };
}

/** In bytes, after a collection. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed;
}
