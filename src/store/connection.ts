import type { Kysely } from 'kysely';
import { sqliteFault } from './dialect/sqlite/faults.js';
import type { SqliteDatabase } from './dialect/sqlite/open.js';
import { type ReadDatabase, withViews } from './reads/views.js';

/**
 * What the working tables need of a database. Each of their methods is one statement, so that it may share a
 * connection with writes that hold a transaction: between two statements somebody else's could come.
 */
export interface Connection {
  /** Runs `work` and turns what the database throws into faults. */
  run<Result>(work: (db: Kysely<ReadDatabase>) => Promise<Result>): Promise<Result>;
}

export function sqliteConnection(database: SqliteDatabase): Connection {
  const db = withViews(database.kysely);
  return {
    async run(work) {
      try {
        return await work(db);
      } catch (error) {
        throw sqliteFault(error, database.file);
      }
    },
  };
}
