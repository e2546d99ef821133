import Sqlite from 'better-sqlite3';
import { Fault } from '../../domain/fault.js';
import type { SqlValue } from './query-messages.js';

/**
 * Takes one statement that only reads. The connection is read-only anyway; this is what makes the refusal a
 * sentence, and what stops statements that write elsewhere than the database, such as VACUUM INTO and ATTACH.
 */
export function prepareReading(raw: Sqlite.Database, sql: string): Sqlite.Statement<unknown[], SqlValue[]> {
  const statement = prepared(raw, sql);
  if (!statement.readonly || !statement.reader)
    throw new Fault('usage', 'only statements that read are run here', {
      hint: 'Begin with SELECT, WITH, VALUES, EXPLAIN or a PRAGMA that asks.',
    });
  return statement.safeIntegers(true).raw(true) as Sqlite.Statement<unknown[], SqlValue[]>;
}

function prepared(raw: Sqlite.Database, sql: string): Sqlite.Statement {
  try {
    return raw.prepare(sql);
  } catch (error) {
    if (error instanceof RangeError)
      throw new Fault('usage', 'one statement at a time, please: the text holds none or several', {
        hint: 'Run them one after the other.',
        cause: error,
      });
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_ERROR')
      throw new Fault('usage', `the query is not valid: ${error.message}`, {
        hint: 'schema/dictionary.md lists the tables, views and columns.',
        cause: error,
      });
    throw error;
  }
}
