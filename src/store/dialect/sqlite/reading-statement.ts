import Sqlite from 'better-sqlite3';
import { mistakeIn } from '../../mistake.js';
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

/** Whether a statement has parameters, without a value for them, by the error of its first use: the driver counts none before. */
export const lacksParameters = (error: unknown): boolean =>
  (error instanceof RangeError || error instanceof TypeError) && /parameter/i.test(error.message);

const readsOnly = (cause?: unknown) =>
  onlyReads('SELECT, WITH, VALUES, EXPLAIN or a PRAGMA that asks', cause);

const writing =
  /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:alter|analyze|create|delete|drop|insert|reindex|replace|update)\b/i;

/** Of a statement that begins with WITH, too. */
const modifiesView = /^cannot modify .* because it is a view$/;

function prepared(raw: Sqlite.Database, sql: string): Sqlite.Statement {
  try {
    return raw.prepare(sql);
  } catch (error) {
    if (error instanceof RangeError) throw notOneStatement(error);
    // Most writes to a view fail to compile, before it is known that the statement writes. The complaint may name another write.
    if (error instanceof Sqlite.SqliteError && (writing.test(sql) || modifiesView.test(error.message)))
      throw readsOnly(error);
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_ERROR') {
      const relation = presentOnlyIn(error.message);
      throw relation === undefined
        ? notValid(
            error.message,
            error,
            mistakeIn(sql, error.message, syntaxErrorAt(raw, sql, error.message)),
          )
        : hasNoPast(relation, `main.${relation}`);
    }
    throw error;
  }
}

/** Enough for any statement that a person writes. */
const attemptsMax = 200;

/**
 * Returns where SQLite stopped to understand the statement. It names the word, not its place: a beginning of the statement
 * that ends with the same word fails the same way only if the word is the wrong one.
 */
function syntaxErrorAt(raw: Sqlite.Database, sql: string, complaint: string): number | undefined {
  if (complaint === 'incomplete input') return Math.max(0, sql.trimEnd().length - 1);
  const word =
    /^near "(.*)": syntax error$/s.exec(complaint)?.[1] ??
    /^unrecognized token: "(.*)"$/s.exec(complaint)?.[1];
  if (word === undefined || word === '') return undefined;
  let from = sql.indexOf(word);
  for (let attempt = 0; attempt < attemptsMax && from !== -1; attempt += 1) {
    if (complaintOf(raw, sql.slice(0, from + word.length)) === complaint) return from;
    from = sql.indexOf(word, from + 1);
  }
  return undefined;
}

function complaintOf(raw: Sqlite.Database, sql: string): string | null {
  try {
    raw.prepare(sql);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : null;
  }
}
