import { setImmediate } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { shippedIndexes } from '../../migrate.js';
import { inTransaction } from './transaction.js';

/**
 * The memory that a sorter uses before it spills to a file. By default it may use as much as the connection's cache,
 * which raised the peak memory of a large listing considerably.
 */
const sorterKibibytes = 8 * 1_024;

/**
 * Runs `work` with sorting in temporary files: faster for a whole listing than sorting in memory, and the memory used
 * does not grow with the rows. Only for data without names, because the files are on the disk.
 */
export function sortingInFiles<Result>(raw: Sqlite.Database, work: () => Result): Result {
  const cache = Number(raw.pragma('cache_size', { simple: true }));
  raw.pragma('temp_store = FILE');
  raw.pragma(`cache_size = -${sorterKibibytes}`);
  try {
    return work();
  } finally {
    raw.pragma(`cache_size = ${cache}`);
    raw.pragma('temp_store = MEMORY');
  }
}

/**
 * Builds the missing indexes of `schema/sqlite/indexes.sql`, each in its own transaction, so that an interruption loses
 * at most one and the next call continues. Yields to the event loop between two indexes.
 */
export async function buildIndexes(raw: Sqlite.Database): Promise<void> {
  const missing = missingIndexes(raw);
  for (const statement of missing) {
    sortingInFiles(raw, () => inTransaction(raw, () => build(raw, statement)));
    await setImmediate();
  }
  reloadStatistics(raw, missing);
}

/**
 * Builds the indexes that a listed mirror lacks: those added by this version, and those that were dropped by hand. A
 * mirror without a complete listing is indexed when it is published.
 */
export function catchUpIndexes(raw: Sqlite.Database): void {
  if (raw.prepare('SELECT 1 FROM sources WHERE listed_at IS NOT NULL').get() === undefined) return;
  const missing = missingIndexes(raw);
  for (const statement of missing) sortingInFiles(raw, () => inTransaction(raw, () => build(raw, statement)));
  reloadStatistics(raw, missing);
}

/** Makes the planner reload the shipped statistics: it read them on opening, before these indexes existed. */
function reloadStatistics(raw: Sqlite.Database, built: readonly string[]): void {
  if (built.length > 0) raw.exec('ANALYZE sqlite_schema');
}

/** Builds the unique index on ids in the caller's transaction. A first listing does without it for as long as it can. */
export function buildIdIndex(raw: Sqlite.Database): void {
  const [first] = missingIndexes(raw);
  if (first?.startsWith('CREATE UNIQUE INDEX')) build(raw, first);
}

function missingIndexes(raw: Sqlite.Database): readonly string[] {
  const present = new Set(raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'index'").pluck().all());
  return shippedIndexes('sqlite').flatMap(({ name, sql }) => (present.has(name) ? [] : [sql]));
}

function build(raw: Sqlite.Database, statement: string): void {
  try {
    raw.exec(statement);
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError) || error.code !== 'SQLITE_CONSTRAINT_UNIQUE') throw error;
    raw.exec(keepLatest);
    raw.exec(statement);
  }
}

/** A listing may name a record on two pages: deletes the earlier entries. */
const keepLatest = `
  DELETE FROM investment_rows WHERE row_no IN (
    SELECT row_no FROM (
      SELECT row_no, row_number() OVER (PARTITION BY source_no, id ORDER BY row_no DESC) AS entry FROM investment_rows
    ) WHERE entry > 1
  )`;
