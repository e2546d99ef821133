import Sqlite from 'better-sqlite3';
import { hasNoPast, notOneStatement, notValid, onlyReads } from '../../query-refusals.js';
import type { SqlValue } from '../port.js';
import { presentOnlyIn } from './as-of.js';

/**
 * Prepares one read-only statement. Throws `usage` for anything else. The connection is read-only already; this check
 * gives a clear message, and stops statements that write outside the database, such as VACUUM INTO and ATTACH.
 */
export function prepareReading(raw: Sqlite.Database, sql: string): Sqlite.Statement<unknown[], SqlValue[]> {
  const statement = prepared(raw, sql);
  if (!statement.readonly || !statement.reader) throw readsOnly();
  return statement.safeIntegers(true).raw(true) as Sqlite.Statement<unknown[], SqlValue[]>;
}

const readsOnly = (cause?: unknown) =>
  onlyReads('SELECT, WITH, VALUES, EXPLAIN or a PRAGMA that asks', cause);

function prepared(raw: Sqlite.Database, sql: string): Sqlite.Statement {
  try {
    return raw.prepare(sql);
  } catch (error) {
    if (error instanceof RangeError) throw notOneStatement(error);
    // A write to a view fails to compile, before it is known that the statement writes.
    if (error instanceof Sqlite.SqliteError && /^cannot modify .* because it is a view$/.test(error.message))
      throw readsOnly(error);
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_ERROR') {
      const relation = presentOnlyIn(error.message);
      throw relation === undefined ? notValid(error.message, error) : hasNoPast(relation, `main.${relation}`);
    }
    throw error;
  }
}
