import Sqlite from 'better-sqlite3';
import { shippedIndexes } from '../../migrate.js';
import { inTransaction } from './transaction.js';

/**
 * The memory that a sorter uses before it spills to a file. By default it may use as much as the connection's cache,
 * which raised the peak memory of a large listing considerably. Each index of so many rows fits into `few`, and needs no file.
 * Of more rows, a thread sorts what was read while more is read, so that an index holds the write lock for a shorter time.
 * With more memory the thread has less to do meanwhile: see docs/evidence/speed.md.
 */
const sorterKibibytes = { few: 8 * 1_024, many: 4 * 1_024 } as const;
const fewRowsMax = 100_000;
const sorterThreads = 1;

/**
 * Runs `work` with sorting in temporary files: faster for a whole listing than sorting in memory, and the memory used
 * does not grow with the rows. Only for data without names, because the files are on the disk.
 */
export function sortingInFiles<Result>(raw: Sqlite.Database, work: () => Result): Result {
  const cache = Number(raw.pragma('cache_size', { simple: true }));
  raw.pragma('temp_store = FILE');
  raw.pragma(`cache_size = -${sorterKibibytes[newestRow(raw) > fewRowsMax ? 'many' : 'few']}`);
  raw.pragma(`threads = ${sorterThreads}`);
  try {
    return work();
  } finally {
    raw.pragma('threads = 0');
    raw.pragma(`cache_size = ${cache}`);
    raw.pragma('temp_store = MEMORY');
  }
}

/** Returns the number of the newest row, which bounds the number of rows. */
export function newestRow(raw: Sqlite.Database): number {
  return raw.prepare<[], number | null>('SELECT max(row_no) FROM investment_rows').pluck().get() ?? 0;
}

/** Returns the names of the indexes of `schema/sqlite/indexes.sql` that do not exist, in build order. */
export function missingIndexes(raw: Sqlite.Database): readonly string[] {
  return missing(raw).map(({ name }) => name);
}

/**
 * Builds one index in its own transaction, so that an interruption loses at most one. Returns whether it deleted rows, of
 * ids that were named twice.
 */
export function buildIndex(raw: Sqlite.Database, name: string): boolean {
  const index = missing(raw).find((one) => one.name === name);
  if (index === undefined) return false;
  return sortingInFiles(raw, () => inTransaction(raw, () => build(raw, index.sql)));
}

/**
 * Builds the indexes that a listed mirror lacks: those added by this version, and those that were dropped by hand. A
 * mirror without a complete listing is indexed when it is published.
 */
export function catchUpIndexes(raw: Sqlite.Database): void {
  if (raw.prepare('SELECT 1 FROM sources WHERE listed_at IS NOT NULL').get() === undefined) return;
  buildIndexes(raw);
}

/** Builds all missing indexes and blocks the event loop meanwhile. */
export function buildIndexes(raw: Sqlite.Database): void {
  const names = missingIndexes(raw);
  for (const name of names) buildIndex(raw, name);
  if (names.length > 0) reloadStatistics(raw);
}

/** Makes the planner reload the shipped statistics: it read them on opening, before these indexes existed. */
export function reloadStatistics(raw: Sqlite.Database): void {
  raw.exec('ANALYZE sqlite_schema');
}

/** Builds the unique index on ids in the caller's transaction. A first listing does without it for as long as it can. */
export function buildIdIndex(raw: Sqlite.Database): void {
  const [first] = missing(raw);
  if (first?.sql.startsWith('CREATE UNIQUE INDEX')) build(raw, first.sql);
}

function missing(raw: Sqlite.Database): ReturnType<typeof shippedIndexes> {
  const present = new Set(raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'index'").pluck().all());
  return shippedIndexes('sqlite').filter(({ name }) => !present.has(name));
}

function build(raw: Sqlite.Database, statement: string): boolean {
  try {
    raw.exec(statement);
    return false;
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError) || error.code !== 'SQLITE_CONSTRAINT_UNIQUE') throw error;
    raw.exec(keepLatest);
    raw.exec(statement);
    return true;
  }
}

/** A listing may name a record on two pages: deletes the earlier entries. */
const keepLatest = `
  DELETE FROM investment_rows WHERE row_no IN (
    SELECT row_no FROM (
      SELECT row_no, row_number() OVER (PARTITION BY source_no, id ORDER BY row_no DESC) AS entry FROM investment_rows
    ) WHERE entry > 1
  )`;
