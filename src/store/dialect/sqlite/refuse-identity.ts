import Sqlite from 'better-sqlite3';
import { readsPeople, tablesWithPeople } from '../../query-refusals.js';

/**
 * Refuses a statement that would open a table with people in it, by whatever name or view it reaches there: SQLite
 * tells with EXPLAIN which trees of the file the compiled statement opens, and that cannot be argued with.
 */
export function refuseIdentity(raw: Sqlite.Database, sql: string): void {
  const opened = explained(raw, sql)
    .filter(({ opcode }) => opcode === 'OpenRead' || opcode === 'ReopenIdx')
    .map(({ p2 }) => p2);
  const marks = tablesWithPeople.map(() => '?').join(', ');
  const trees = raw
    .prepare<string[], number>(`SELECT rootpage FROM main.sqlite_schema WHERE tbl_name IN (${marks})`)
    .pluck()
    .all(...tablesWithPeople);
  if (opened.some((tree) => trees.includes(tree))) throw readsPeople();
}

interface Step {
  readonly opcode: string;
  readonly p2: number;
}

function explained(raw: Sqlite.Database, sql: string): readonly Step[] {
  try {
    return raw.prepare<[], Step>(`EXPLAIN ${sql}`).all();
  } catch (error) {
    // It compiled before, so what cannot be explained is an EXPLAIN itself, which opens nothing.
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_ERROR') return [];
    throw error;
  }
}
