import { shippedIndexes } from '../../migrate.js';
import type { PostgresDatabase } from './open.js';
import { inTransaction, type Transaction } from './transaction.js';

type Index = ReturnType<typeof shippedIndexes>[number];

/** Built by one at a time, whoever they are: two would fail over its name. "rost" in ASCII, and a number of our own. */
const lock = "SELECT pg_advisory_xact_lock(x'726f7374'::int, hashtext(current_schema() || ' ' || $1))";

/** So many are built at a time: all in 0.7 of the time with two processors, and two sorts in the server's memory at most. */
const lanes = 2;

/**
 * Builds what is missing of `schema/postgres/indexes.sql`, each in a transaction of its own, so that a stop in
 * between loses few and the next call goes on. Pages of other sources wait while one is built, which is
 * once in the life of a mirror.
 */
export async function buildIndexes(database: PostgresDatabase): Promise<void> {
  const missing = await inTransaction(database, missingIndexes);
  if (missing.length === 0) return;
  const buildNext = async (left: Iterator<Index>) => {
    for (let next = left.next(); next.done !== true; next = left.next()) {
      const index = next.value;
      await inTransaction(database, (transaction) => build(transaction, index));
    }
  };
  // The first one may delete rows, for which it waits until no other is being built.
  await buildNext(missing.filter(isUnique).values());
  const others = missing.filter((index) => !isUnique(index)).values();
  const built = await Promise.allSettled(Array.from({ length: lanes }, () => buildNext(others)));
  for (const lane of built) if (lane.status === 'rejected') throw lane.reason;
  // A million rows came since anybody counted; plans made without that would read all of them.
  await inTransaction(database, async (transaction) => {
    await transaction.run('ANALYZE investment_rows');
    await transaction.run(`ANALYZE ${quoted(database.identitySchema)}.identity_rows`);
  });
}

/** Inside the caller's transaction: makes ids unique and quick to find, which a listing does without until it must. */
export async function buildIdIndex(transaction: Transaction): Promise<void> {
  for (const index of shippedIndexes('postgres').filter(isUnique)) await build(transaction, index);
}

async function missingIndexes(transaction: Transaction): Promise<readonly Index[]> {
  const rows = await transaction.rows<{ name: string }>(
    'SELECT indexname AS name FROM pg_indexes WHERE schemaname = current_schema()',
  );
  const present = new Set(rows.map(({ name }) => name));
  return shippedIndexes('postgres').filter(({ name }) => !present.has(name));
}

function isUnique({ sql }: Index): boolean {
  return sql.startsWith('CREATE UNIQUE INDEX');
}

/**
 * Does nothing where it is there by now. A listing may name a record on two pages; then the later entry counts, and
 * only then all rows are sorted for it.
 */
async function build(transaction: Transaction, index: Index): Promise<void> {
  transaction.send(lock, index.name);
  if (!isUnique(index)) {
    await transaction.run(index.sql);
    return;
  }
  // A failure inside the block is undone to its beginning, and the transaction goes on.
  await transaction.run(`DO $$
    BEGIN
      ${index.sql}
    EXCEPTION WHEN unique_violation THEN
      ${keepLatest}
      ${index.sql}
    END $$`);
}

const keepLatest = `
  WITH earlier AS (
    DELETE FROM investment_rows WHERE row_no IN (
      SELECT row_no FROM (
        SELECT row_no, row_number() OVER (PARTITION BY source_no, id ORDER BY row_no DESC) AS entry
        FROM investment_rows
      ) AS entries WHERE entry > 1
    ) RETURNING row_no
  )
  DELETE FROM identity_rows WHERE row_no IN (SELECT row_no FROM earlier);`;

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
