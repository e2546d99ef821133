import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WireFetch } from '../../../src/client/fetch/fetch.js';
import type { Engine } from '../../../src/daemon/engine.js';
import { VirtualClock } from '../../sync/support/virtual-clock.js';
import { Feed, observedAt, perPage } from '../feed.js';
import { type Measure, measure, type Section } from '../measures.js';
import { benchSource, openProduct, tickOf } from '../product.js';

const second = 1_000;
const hour = 3_600 * second;
const day = 24 * hour;

export const requests: Section = {
  name: 'requests',
  each: false,
  says:
    'Requests to the platform, counted on a virtual clock. The minimum is ' +
    `a page for every ${perPage} records or changes; the rest are one read at the end of a listing and an hourly check of what the ` +
    'token may read. A tick a minute is the setting; where webhooks announced what changed, idle ticks move apart.',
  measure: async ({ records: sizes, burst }) => {
    const records = Math.min(10_000, ...sizes);
    return await onVirtualTime(records, async ({ engine, feed, clock, settle }) => {
      const found: Measure[] = [];
      const count = async (name: string, work: () => Promise<unknown>, least?: number, spare = 0) => {
        const before = feed.requests;
        await work();
        const asked = feed.requests - before;
        found.push(
          measure(name, 'requests', [asked], least === undefined ? undefined : { most: least + spare }),
        );
      };
      const announce = async () => {
        feed.change(feed.requests);
        engine.sync.nudge(benchSource);
        await settle();
      };
      const pages = Math.ceil(records / perPage);
      await count(
        `a bootstrap of ${records.toLocaleString('en-US')} records, ${pages} pages`,
        () => tickOf(engine),
        ...([pages, 2] as const),
      );
      engine.sync.start();
      await settle();
      const idle = () => clock.advance(day, settle);
      await count('a day in which nothing happens, no webhook ever seen', idle, 24 * 60, 24 + 60);
      await announce();
      await count('the same after webhooks announced what changed', idle, 24 * 20, 24 + 40);
      const changed = Math.ceil(burst / perPage);
      const title = `${burst.toLocaleString('en-US')} changes, ${changed} pages of them,`;
      await clock.advance(hour, settle);
      await count(
        `${title} announced at once`,
        async () => {
          for (let no = 0; no < burst; no += 1) {
            feed.change(no);
            engine.sync.nudge(benchSource);
          }
          await settle();
        },
        ...([changed, 2] as const),
      );
      await clock.advance(hour, settle);
      await count(`${title} announced over a minute`, async () => {
        for (let no = 0; no < burst; no += 1) {
          await clock.advance((60 * second) / burst, settle);
          feed.change(no);
          engine.sync.nudge(benchSource);
        }
        await clock.advance(10 * second, settle);
      });
      return found;
    });
  },
};

interface Stage {
  readonly engine: Engine;
  readonly feed: Feed;
  readonly clock: VirtualClock;
  /** Resolves once no work is pending. */
  settle(): Promise<void>;
}

async function onVirtualTime<Result>(
  records: number,
  work: (stage: Stage) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-requests-'));
  const clock = new VirtualClock(Date.parse(observedAt));
  const feed = new Feed(records, () => clock.now());
  const wire: WireFetch = async (url) =>
    new Response(feed.page(url.searchParams), { headers: { 'content-type': 'application/json' } });
  const engine = await openProduct('http://127.0.0.1:1', folder, { clock, wire });
  try {
    return await work({ engine, feed, clock, settle: () => engine.sync.idle() });
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
