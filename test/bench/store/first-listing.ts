import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { FeedItem } from '../../../src/domain/investment.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { randomText, seededRandom } from '../../../src/runtime/random.js';
import { migrateSqlite } from '../../../src/store/dialect/sqlite/migrate.js';
import { SqliteMirror } from '../../../src/store/dialect/sqlite/mirror.js';
import { openSqlite } from '../../../src/store/dialect/sqlite/open.js';
import {
  identityColumns,
  identityValues,
  recordColumns,
  recordValues,
} from '../../../src/store/record-columns.js';
import { acme, identity, listingPage, record } from '../../store/samples.js';
import { readOptions, whole } from '../../support/options.js';

const { records, rounds } = readOptions({
  name: 'npx tsx test/bench/store/first-listing.ts',
  about: `A first listing through the mirror against the naive floor: one prepared upsert of the same columns for each
record, a commit for each page, no secondary index. Rounds alternate, because the machine's speed varies.`,
  options: {
    records: whole('records of the listing', 200_000, { least: 100 }),
    rounds: whole('rounds of each', 3, { least: 1 }),
  },
});
const perPage = 100;
const pages = makePages(Math.floor(records / perPage));
const ratios: number[] = [];
for (let round = 1; round <= rounds; round += 1) {
  const floor = await timed(naiveFloor);
  const mirror = await timed(firstListing);
  ratios.push(floor / mirror);
  process.stdout.write(
    `round ${round}: floor ${rate(floor)} rec/s, mirror ${rate(mirror)} rec/s, ratio ${(floor / mirror).toFixed(2)}\n`,
  );
}
process.stdout.write(`median ratio ${ratios.sort((a, b) => a - b)[ratios.length >> 1]?.toFixed(2)}\n`);

function makePages(count: number): FeedItem[][] {
  const random = seededRandom(7);
  const blockers = JSON.stringify([{ type: 'accreditation', state: 'pending' }]);
  const contracts = JSON.stringify([{ id: 'ctr_1', name: 'SAFE', signed_at: '2026-01-01T00:00:00.000Z' }]);
  return Array.from({ length: count }, () =>
    Array.from({ length: perPage }, () => {
      const id = `inv_${randomText(random, 22)}`;
      const who = identity(randomText(random, 12), {
        address_line: '1 Long Street',
        city: 'Springfield',
        bio: 'x'.repeat(120),
      });
      return record(id, { investor_id: `usr_${randomText(random, 22)}`, blockers, contracts }, who);
    }),
  );
}

async function timed(work: (file: string) => Promise<void>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-bench-'));
  try {
    const start = systemClock.monotonic();
    await work(join(folder, 'mirror.db'));
    return systemClock.monotonic() - start;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function firstListing(file: string): Promise<void> {
  const database = openSqlite(file);
  migrateSqlite(database, { clock: systemClock, version: 'bench' });
  const mirror = new SqliteMirror(database, { clock: systemClock, leaseMs: 60_000 });
  const { lease } = await mirror.open(acme, 'bench');
  await mirror.beginListing(lease, { kind: 'first', fingerprint: 'f1', restarts: 0, notBefore: null });
  for (const [index, items] of pages.entries())
    await mirror.addListingPage(lease, listingPage(items, `p${index}`, index + 1 < pages.length));
  const listed = systemClock.monotonic();
  await mirror.publishListing(lease, `p${pages.length - 1}` as never, { share: 1, rows: 0, accepted: true });
  const published = systemClock.monotonic();
  database.close();
  process.stdout.write(
    `  publish ${(published - listed).toFixed(0)} ms, close ${(systemClock.monotonic() - published).toFixed(0)} ms\n`,
  );
}

async function naiveFloor(file: string): Promise<void> {
  const raw = new Sqlite(file);
  raw.pragma('journal_mode = WAL');
  raw.pragma('synchronous = NORMAL');
  const person = identityColumns.map((column) => `identity_${column}`);
  const columns = ['id', ...recordColumns, ...person];
  raw.exec(`CREATE TABLE investments (${columns.map((column) => (column === 'id' ? 'id TEXT PRIMARY KEY' : column)).join(', ')});
            CREATE TABLE cursors (name TEXT PRIMARY KEY, cursor TEXT)`);
  const upsert = raw.prepare<unknown[]>(
    `INSERT INTO investments (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
     ON CONFLICT (id) DO UPDATE SET ${columns
       .slice(1)
       .map((column) => `${column} = excluded.${column}`)
       .join(', ')}`,
  );
  const save = raw.prepare<[string]>("INSERT OR REPLACE INTO cursors VALUES ('acme', ?)");
  const apply = raw.transaction((items: readonly FeedItem[], cursor: string) => {
    for (const item of items) {
      if (item.kind !== 'record' || item.identity === null) continue;
      upsert.run(item.investment.id, ...recordValues(item.investment), ...identityValues(item.identity));
    }
    save.run(cursor);
  });
  for (const [index, items] of pages.entries()) apply(items, `p${index}`);
  raw.close();
}

function rate(millis: number): string {
  return Math.round((pages.length * perPage * 1_000) / millis).toLocaleString('en');
}
