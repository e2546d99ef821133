import { setImmediate } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { shippedIndexes } from '../../migrate.js';
import { inTransaction } from './transaction.js';

/**
 * What a sorter takes before it goes on in a file. With the connection's whole cache, 64 MB then and 48 now, listing a
 * million records took 279 MB at its peak, and now takes 195.
 */
const sorterKibibytes = 8 * 1_024;

/**
 * Runs what sorts a whole listing and nothing that names somebody: in files, which takes a third less time than in
 * memory, and memory that does not grow with the rows.
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
 * Builds what is missing of `schema/sqlite/indexes.sql`, each in a transaction of its own, so that a stop in
 * between loses one at most and the next call goes on. Between two of them other work of this process gets its turn.
 */
export async function buildIndexes(raw: Sqlite.Database): Promise<void> {
  const missing = missingIndexes(raw);
  for (const statement of missing) {
    sortingInFiles(raw, () => inTransaction(raw, () => build(raw, statement)));
    await setImmediate();
  }
  readSizesAgain(raw, missing);
}

/**
 * A later version may index what it holds differently: a mirror listed by an earlier one gets that when it is opened,
 * and any that somebody dropped. One that is not listed yet is indexed when it is.
 */
export function catchUpIndexes(raw: Sqlite.Database): void {
  if (raw.prepare('SELECT 1 FROM sources WHERE listed_at IS NOT NULL').get() === undefined) return;
  const missing = missingIndexes(raw);
  for (const statement of missing) sortingInFiles(raw, () => inTransaction(raw, () => build(raw, statement)));
  readSizesAgain(raw, missing);
}

/** The sizes we wrote down were read when this connection opened, before there was an index to apply them to. */
function readSizesAgain(raw: Sqlite.Database, built: readonly string[]): void {
  if (built.length > 0) raw.exec('ANALYZE sqlite_schema');
}

/** Inside the caller's transaction: makes ids unique and quick to find, which a listing does without until it must. */
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

/** A listing may name a record on two pages; the later entry counts. */
const keepLatest = `
  DELETE FROM investment_rows WHERE row_no IN (
    SELECT row_no FROM (
      SELECT row_no, row_number() OVER (PARTITION BY source_no, id ORDER BY row_no DESC) AS entry FROM investment_rows
    ) WHERE entry > 1
  )`;
