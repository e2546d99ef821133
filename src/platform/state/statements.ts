import type Sqlite from 'better-sqlite3';
import type { State } from './database.js';

type Value = string | number | bigint | Buffer | null;
type Parameters = readonly Value[] | { readonly [name: string]: Value };

const caches = new WeakMap<State, Map<string, Sqlite.Statement<unknown[], unknown>>>();

/** Returns a prepared statement, cached per database by its SQL text. The text must therefore be constant. */
function prepared(state: State, sql: string): Sqlite.Statement<unknown[], unknown> {
  const cache = caches.get(state) ?? new Map<string, Sqlite.Statement<unknown[], unknown>>();
  caches.set(state, cache);
  const statement = cache.get(sql) ?? state.prepare<unknown[], unknown>(sql);
  cache.set(sql, statement);
  return statement;
}

/** Returns the first row. `Row` is not checked: the caller states the type of its own SELECT. */
export function one<Row>(state: State, sql: string, parameters: Parameters = []): Row | undefined {
  return prepared(state, sql).get(parameters) as Row | undefined;
}

export function all<Row>(state: State, sql: string, parameters: Parameters = []): Row[] {
  return prepared(state, sql).all(parameters) as Row[];
}

export function run(state: State, sql: string, parameters: Parameters = []): { changes: number; no: number } {
  const result = prepared(state, sql).run(parameters);
  return { changes: result.changes, no: Number(result.lastInsertRowid) };
}
