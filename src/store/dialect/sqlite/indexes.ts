import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { schemaPath } from '../../../runtime/package-root.js';
import { inTransaction } from './transaction.js';

/**
 * Builds what is missing of `schema/sqlite/indexes.sql`, each in a transaction of its own, so that a stop in
 * between loses one at most and the next call goes on. Between two of them other work of this process gets its turn.
 */
export async function buildIndexes(raw: Sqlite.Database): Promise<void> {
  for (const statement of missingIndexes(raw)) {
    inTransaction(raw, () => build(raw, statement));
    await setImmediate();
  }
}

/** Inside the caller's transaction: makes ids unique and quick to find, which a listing does without until it must. */
export function buildIdIndex(raw: Sqlite.Database): void {
  const [first] = missingIndexes(raw);
  if (first?.startsWith('CREATE UNIQUE INDEX')) build(raw, first);
}

/** Whether records can be found by anything but their row. Once built, indexes stay. */
export function areIndexesBuilt(raw: Sqlite.Database): boolean {
  return (
    raw.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'investment_rows_investor'").get() !== undefined
  );
}

function missingIndexes(raw: Sqlite.Database): readonly string[] {
  const present = new Set(raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'index'").pluck().all());
  const sql = readFileSync(schemaPath('sqlite', 'indexes.sql'), 'utf8');
  return [...sql.matchAll(/^CREATE (?:UNIQUE )?INDEX IF NOT EXISTS (\w+) [^;]+;/gm)].flatMap((match) =>
    present.has(match[1]) ? [] : [match[0]],
  );
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
