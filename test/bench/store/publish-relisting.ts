import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FeedItem, Investment } from '../../../src/domain/investment.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { migrateSqlite } from '../../../src/store/dialect/sqlite/migrate.js';
import { SqliteMirror } from '../../../src/store/dialect/sqlite/mirror.js';
import { openSqlite } from '../../../src/store/dialect/sqlite/open.js';
import { acme, listingPage } from '../../store/samples.js';
import { readOptions, whole } from '../../support/options.js';
import { sample } from './sample.js';

const { records: count } = readOptions({
  name: 'npx tsx test/bench/store/publish-relisting.ts',
  about: `Measures how long publishing a re-listing blocks, by the share of changed records and by what changed: a status
and an amount (in four indexes), or an unknown field (in none).`,
  options: { records: whole('records of the listing', 200_000, { least: 100 }) },
});
const perPage = 100;
const accepted = { share: 1, rows: 0, accepted: true };

for (const share of [1, 0.1, 0.001]) {
  await measured('status and amount', share, (n) => ({ status: 'canceled', committed_cents: n as never }));
  await measured('an unknown field', share, () => ({ extra: '{"new":true}' }));
}

async function measured(what: string, share: number, change: (n: number) => Partial<Investment>) {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-'));
  const database = openSqlite(join(folder, 'mirror.db'));
  try {
    migrateSqlite(database, { clock: systemClock, version: 'bench' });
    const mirror = new SqliteMirror(database, { clock: systemClock, leaseMs: 600_000 });
    const { lease } = await mirror.open(acme, 'bench');
    const list = async (kind: 'first' | 'relist', items: (n: number) => FeedItem) => {
      await mirror.beginListing(lease, { kind, fingerprint: 'f1', restarts: 0, notBefore: null });
      for (let from = 0; from < count; from += perPage) {
        const page = Array.from({ length: perPage }, (_, index) => items(from + index));
        await mirror.addListingPage(lease, listingPage(page, `p${from}`, from + perPage < count));
      }
      const start = systemClock.monotonic();
      const { applied } = await mirror.publishListing(lease, `p${count - perPage}` as never, accepted);
      return { millis: systemClock.monotonic() - start, applied };
    };
    await list('first', (n) => sample(n, {}));
    const { millis, applied } = await list('relist', (n) =>
      sample(n, (n * 7919) % count < share * count ? change(n) : {}),
    );
    const each = (1_000 * millis) / Math.max(1, applied.changed);
    process.stdout.write(
      `${what}, ${applied.changed} of ${count} changed: ${millis.toFixed(0)} ms, ${each.toFixed(1)} µs a change\n`,
    );
  } finally {
    database.close();
    rmSync(folder, { recursive: true });
  }
}
