import { shippedIndexes } from '../../migrate.js';
import type { PostgresDatabase } from './open.js';
import { inTransaction, type Transaction } from './transaction.js';

/** One at a time, whoever builds them. "rost" in ASCII, and a number of our own. */
const lock = "SELECT pg_advisory_xact_lock(x'726f7374'::int, hashtext(current_schema() || ' indexes'))";

/**
 * Builds what is missing of `schema/postgres/indexes.sql`, each in a transaction of its own, so that a stop in
 * between loses one at most and the next call goes on. Pages of other sources wait while one is built, which is
 * once in the life of a mirror.
 */
export async function buildIndexes(database: PostgresDatabase): Promise<void> {
  const { length } = await inTransaction(database, missingIndexes);
  if (length === 0) return;
  for (;;) {
    const left = await inTransaction(database, async (transaction) => {
      await transaction.run(lock);
      const [statement, ...others] = await missingIndexes(transaction);
      if (statement !== undefined) await build(transaction, statement);
      return others.length;
    });
    if (left === 0) break;
  }
  // A million rows came since anybody counted; plans made without that would read all of them.
  await inTransaction(database, async (transaction) => {
    await transaction.run('ANALYZE investment_rows');
    await transaction.run(`ANALYZE ${quoted(database.identitySchema)}.identity_rows`);
  });
}

/** Inside the caller's transaction: makes ids unique and quick to find, which a listing does without until it must. */
export async function buildIdIndex(transaction: Transaction): Promise<void> {
  await transaction.run(lock);
  const [first] = await missingIndexes(transaction);
  if (first?.startsWith('CREATE UNIQUE INDEX')) await build(transaction, first);
}

async function missingIndexes(transaction: Transaction): Promise<readonly string[]> {
  const rows = await transaction.rows<{ name: string }>(
    'SELECT indexname AS name FROM pg_indexes WHERE schemaname = current_schema()',
  );
  const present = new Set(rows.map(({ name }) => name));
  return shippedIndexes('postgres').flatMap(({ name, sql }) => (present.has(name) ? [] : [sql]));
}

/** A listing may name a record on two pages; then the later entry counts, and only then all rows are sorted for it. */
async function build(transaction: Transaction, statement: string): Promise<void> {
  if (!statement.startsWith('CREATE UNIQUE INDEX')) {
    await transaction.run(statement);
    return;
  }
  // A failure inside the block is undone to its beginning, and the transaction goes on.
  await transaction.run(`DO $$
    BEGIN
      ${statement}
    EXCEPTION WHEN unique_violation THEN
      ${keepLatest}
      ${statement}
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
