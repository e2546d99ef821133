import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteMirror } from '../../../src/daemon/open-sqlite-mirror.js';
import type { Instant } from '../../../src/domain/instant.js';
import type { FeedItem } from '../../../src/domain/investment.js';
import type { Cents } from '../../../src/domain/money.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { acme, listingPage } from '../../store/samples.js';
import { readOptions, whole } from '../../support/options.js';
import { sample } from './sample.js';

const { records: count } = readOptions({
  name: 'npx tsx test/bench/store/listing-stalls.ts',
  about: `Measures the longest turn of the event loop while a large source is listed, published and listed again on SQLite: a
turn is a delivery's wait. Few records change between the two listings.`,
  options: { records: whole('records of the source', 200_000, { least: 100 }) },
});
const perPage = 100;
const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-'));
const opened = openSqliteMirror(
  { kind: 'sqlite', file: join(folder, 'mirror.db') },
  { clock: systemClock, logger: silentLogger, identity: 'keep', ledger: undefined as never },
);

/** Runs `work` and prints how long it took and the longest turn in it: on the clock, and of that on a processor. */
async function measured<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const onProcessor = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  const longest = { wall: 0, processor: 0 };
  let last = { wall: performance.now(), processor: onProcessor() };
  const turn = () => {
    const now = { wall: performance.now(), processor: onProcessor() };
    longest.wall = Math.max(longest.wall, now.wall - last.wall);
    longest.processor = Math.max(longest.processor, now.processor - last.processor);
    last = now;
  };
  let over = false;
  const next = () => {
    turn();
    if (!over) setImmediate(next);
  };
  setImmediate(next);
  const begun = performance.now();
  const result = await work();
  turn();
  over = true;
  const figures = [performance.now() - begun, longest.wall, longest.processor].map((millis) =>
    millis.toFixed(0).padStart(6),
  );
  process.stdout.write(
    `${what.padEnd(20)} ${figures[0]} ms, longest turn ${figures[1]} ms, on a processor ${figures[2]} ms\n`,
  );
  return result;
}

const offerings = 40;
const investors = Math.ceil(count / 4);
function item(n: number, version: number): FeedItem {
  const day = new Date(Date.UTC(2024, 0, 1) + ((n * 7_919) % (700 * 86_400)) * 1_000).toISOString();
  return sample(n, {
    offering_id: `ofr_${n % offerings}`,
    investor_id: `usr_${(n * 7_919) % investors}`,
    status: ['active', 'executed', 'approved'][n % 3] ?? 'active',
    applied_at: day as Instant,
    committed_cents: (10_000 + n + (n % 1_000 === 0 ? version : 0)) as Cents,
  });
}

try {
  const { mirror } = opened;
  const { lease } = await mirror.open(acme, 'bench');
  const list = async (kind: 'first' | 'relist', version: number) => {
    await measured(`${kind}: begin`, () =>
      mirror.beginListing(lease, { kind, fingerprint: 'f1', restarts: 0, notBefore: null }),
    );
    await measured(`${kind}: pages`, async () => {
      for (let from = 0; from < count; from += perPage) {
        const page = Array.from({ length: perPage }, (_, index) => item(from + index, version));
        // One record in ten thousand is gone.
        const kept = kind === 'first' ? page : page.filter((_, at) => (from + at) % 10_000 !== 77);
        await mirror.addListingPage(lease, listingPage(kept, `p${from}`, from + perPage < count));
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    await measured(`${kind}: publish`, () =>
      mirror.publishListing(lease, `p${count - perPage}` as never, { share: 1, rows: 0, accepted: true }),
    );
  };
  await list('first', 0);
  await list('relist', 1);
  await measured('scrub', () => opened.upkeep.scrub(0, new AbortController().signal));
} finally {
  await opened.close();
  rmSync(folder, { recursive: true });
}
