import { shippedIndexes } from '../../migrate.js';
import type { PostgresDatabase } from './open.js';
import { inTransaction, type Transaction } from './transaction.js';

type Index = ReturnType<typeof shippedIndexes>[number];

/** One process at a time builds an index: a second one would fail on its name. The first key is "rost" in ASCII. */
const lock = "SELECT pg_advisory_xact_lock(x'726f7374'::int, hashtext(current_schema() || ' ' || $1))";

/** Indexes built at the same time: two use a second CPU of the server, and its memory holds two sorts at most. */
const lanes = 2;

/**
 * Builds the missing indexes of `schema/postgres/indexes.sql`, each in its own transaction, so that after an interruption
 * the next call continues with those still missing. Page writes of other sources wait while an index is built, which
 * happens once per mirror.
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
  // The unique index first and alone: building it may delete rows, which would wait for another build.
  await buildNext(missing.filter(isUnique).values());
  const others = missing.filter((index) => !isUnique(index)).values();
  const built = await Promise.allSettled(Array.from({ length: lanes }, () => buildNext(others)));
  for (const lane of built) if (lane.status === 'rejected') throw lane.reason;
  // The tables were just filled: without fresh statistics the planner would choose full scans.
  await inTransaction(database, async (transaction) => {
    await transaction.run('ANALYZE investment_rows');
    await transaction.run(`ANALYZE ${quoted(database.identitySchema)}.identity_rows`);
  });
}

/** Builds the unique index on ids in the caller's transaction. A first listing does without it for as long as it can. */
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
 * Does nothing if the index exists by now. A listing may name a record on two pages: if the unique index fails for
 * that reason, the earlier entries are deleted and the index is built again.
 */
async function build(transaction: Transaction, index: Index): Promise<void> {
  transaction.send(lock, index.name);
  if (!isUnique(index)) {
    await transaction.run(index.sql);
    return;
  }
  // A failure inside the block is rolled back to its beginning, and the transaction continues.
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
