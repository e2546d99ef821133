import { Kysely, SqliteDialect } from '../../query-builder.js';
import type { Database } from '../../schema.js';
import { connectSqlite, type OpenOptions, type SqliteConnection } from './connect.js';

export interface SqliteDatabase extends SqliteConnection {
  /** Shares the connection of `raw`: never leave a Kysely transaction open across an `await` beside raw writes. */
  readonly kysely: Kysely<Database>;
}

/** Like `connectSqlite`, with the query builder. */
export function openSqlite(file: string, options: OpenOptions = {}): SqliteDatabase {
  const connection = connectSqlite(file, options);
  const dialect = new SqliteDialect({ database: connection.raw });
  return { ...connection, kysely: new Kysely<Database>({ dialect }) };
}
