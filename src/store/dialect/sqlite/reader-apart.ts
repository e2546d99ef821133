import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult } from 'kysely';
import type { Interruption } from '../../../runtime/interruption.js';
import { type Readings, readingsOf } from '../../mirror-database.js';
import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from '../../query-builder.js';
import { ownSqlFault } from './faults.js';
import type { AskApart, ReadingProcesses } from './reading-processes.js';

/** Runs `work` with the same readings as `openSqliteReader`, executed in child processes. */
export async function readSqliteApart<Result>(
  processes: ReadingProcesses,
  file: string,
  work: (readings: Readings) => Promise<Result>,
  gone?: Interruption,
): Promise<Result> {
  try {
    return await processes.read(file, (ask) => work(readingsOf(dialectOver(ask))), gone);
  } catch (error) {
    throw ownSqlFault(error, file);
  }
}

function dialectOver(ask: AskApart): Dialect {
  return {
    createAdapter: () => new ReadingAdapter(),
    createDriver: () => new ReadingDriver(new ReadingConnection(ask)),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class ReadingAdapter extends SqliteAdapter {
  /** The child processes keep a streamed result apart from other queries, so they need not wait for its end. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class ReadingConnection implements DatabaseConnection {
  constructor(readonly ask: AskApart) {}

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    return { rows: (await this.ask({ kind: 'all', sql, parameters })) as Row[] };
  }

  async *streamQuery<Row>({ sql, parameters }: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    await this.ask({ kind: 'begin', sql, parameters });
    try {
      for (let rows = await this.#next<Row>(); rows.length > 0; rows = await this.#next<Row>())
        yield { rows };
    } finally {
      await this.ask({ kind: 'drop' }).catch(() => {});
    }
  }

  async #next<Row>(): Promise<Row[]> {
    return (await this.ask({ kind: 'next' })) as Row[];
  }
}

/** A driver without transactions, which readings do not need. */
class ReadingDriver implements Driver {
  constructor(readonly connection: DatabaseConnection) {}

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.connection;
  }

  async beginTransaction(): Promise<never> {
    throw new Error('reading processes have no transactions');
  }

  commitTransaction = this.beginTransaction;
  rollbackTransaction = this.beginTransaction;

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {}
}
