import type { Kysely } from 'kysely';
import { withNamedRights } from './dialect/postgres/missing-rights.js';
import type { PostgresDatabase } from './dialect/postgres/open.js';
import { ownSqlFault } from './dialect/sqlite/faults.js';
import type { SqliteDatabase } from './dialect/sqlite/open.js';
import { type ReadDatabase, withViews } from './reads/views.js';

/**
 * The database access that the working tables need. Each of their methods runs a single statement, because the
 * connection may be shared with a writer: a statement of its transaction could run between any two statements.
 */
export interface Connection {
  /** Runs `work` and converts database errors to faults. */
  run<Result>(work: (db: Kysely<ReadDatabase>) => Promise<Result>): Promise<Result>;
}

export function sqliteConnection(database: SqliteDatabase): Connection {
  return connectionTo(withViews(database.kysely), (error) => ownSqlFault(error, database.file));
}

export function postgresConnection(database: PostgresDatabase): Connection {
  const db = withViews(database.kysely);
  return { run: (work) => withNamedRights(database, () => work(db)) };
}

export function connectionTo(
  db: Kysely<ReadDatabase>,
  faultOf: (error: unknown) => unknown | Promise<unknown>,
): Connection {
  return {
    async run(work) {
      try {
        return await work(db);
      } catch (error) {
        throw await faultOf(error);
      }
    },
  };
}
