import type { Kysely } from 'kysely';
import { postgresFault } from './dialect/postgres/faults.js';
import type { PostgresDatabase } from './dialect/postgres/open.js';
import { ownSqlFault } from './dialect/sqlite/faults.js';
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
  return connectionTo(withViews(database.kysely), (error) => ownSqlFault(error, database.file));
}

export function postgresConnection(database: PostgresDatabase): Connection {
  return connectionTo(withViews(database.kysely), (error) => postgresFault(error, database.url));
}

export function connectionTo(db: Kysely<ReadDatabase>, faultOf: (error: unknown) => unknown): Connection {
  return {
    async run(work) {
      try {
        return await work(db);
      } catch (error) {
        throw faultOf(error);
      }
    },
  };
}
