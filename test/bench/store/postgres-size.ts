import { systemClock } from '../../../src/runtime/clock.js';
import { migratePostgres } from '../../../src/store/dialect/postgres/migrate.js';
import { PostgresMirror } from '../../../src/store/dialect/postgres/mirror.js';
import { openPostgres } from '../../../src/store/dialect/postgres/open.js';
import type { Reached } from '../../../src/sync/ports.js';
import { withClient } from '../../postgres/run-databases.js';
import { startPostgres } from '../../postgres/server.js';
import { acme, deltaPage, listingPage } from '../../store/samples.js';
import { readOptions, whole } from '../../support/options.js';
import { sample } from './sample.js';

const { records: count } = readOptions({
  name: 'npx tsx test/bench/store/postgres-size.ts',
  about: `Measures the size of a record and of a version in PostgreSQL with tables, indexes and WAL: a first listing, then
every record changed once by the feed.`,
  options: { records: whole('records of the listing', 100_000, { least: 100 }) },
});
const perPage = 100;
const accepted = { share: 1, rows: 0, accepted: true };

interface Weight {
  readonly table: string;
  readonly heap: number;
  readonly indexes: number;
}

const server = await startPostgres();
const database = await openPostgres(server.url);
try {
  await migratePostgres(database, { clock: systemClock, version: 'bench' });
  const mirror = new PostgresMirror(database, { clock: systemClock, leaseMs: 600_000 });
  const { lease } = await mirror.open(acme, 'bench');
  const empty = await weigh();
  const before = await logged();
  await mirror.beginListing(lease, { kind: 'first', fingerprint: 'f1', restarts: 0, notBefore: null });
  for (let from = 0; from < count; from += perPage)
    await mirror.addListingPage(lease, listingPage(page(from, {}), `p${from}`, from + perPage < count));
  await mirror.publishListing(lease, `p${count - perPage}` as never, accepted);
  const listed = await weigh();
  const afterListing = await logged();
  tell('a record, listed', empty, listed, afterListing - before);

  for (let from = 0; from < count; from += perPage) {
    const cursor = `c${from}`;
    const reached: Reached = { kind: 'following', cursor: cursor as never };
    await mirror.applyPage(lease, deltaPage(page(from, { status: 'canceled' }), cursor), reached);
  }
  await withClient(server.url, (client) => client.query('VACUUM'));
  tell('a version, by the feed', listed, await weigh(), (await logged()) - afterListing);
} finally {
  await database.close();
  await server.close();
}

function page(from: number, more: Parameters<typeof sample>[1]) {
  return Array.from({ length: perPage }, (_, index) => sample(from + index, more));
}

async function weigh(): Promise<readonly Weight[]> {
  const { rows } = await database.pool.query<Weight>(
    `SELECT c.relname AS table, pg_table_size(c.oid) AS heap, pg_indexes_size(c.oid) AS indexes
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND n.nspname IN ('public', 'rosterd_identity') ORDER BY 1`,
  );
  return rows;
}

async function logged(): Promise<number> {
  const { rows } = await database.pool.query<{ bytes: number }>(
    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS bytes",
  );
  return rows[0]?.bytes ?? 0;
}

function tell(what: string, before: readonly Weight[], after: readonly Weight[], log: number): void {
  const each = (bytes: number) => (bytes / count).toFixed(0);
  let sum = 0;
  for (const { table, heap, indexes } of after) {
    const old = before.find((one) => one.table === table);
    const [rows, keys] = [heap - (old?.heap ?? 0), indexes - (old?.indexes ?? 0)];
    sum += rows + keys;
    if (rows + keys > count)
      process.stdout.write(`  ${table}: ${each(rows)} B + ${each(keys)} B of indexes\n`);
  }
  process.stdout.write(`${what}: ${each(sum)} B, ${each(log)} B of log (${count} records)\n`);
}
