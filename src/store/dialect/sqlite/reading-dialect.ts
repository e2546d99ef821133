import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult } from 'kysely';
import { SqliteAdapter, SqliteDialect } from '../../query-builder.js';
import type { SqliteConnection } from './connect.js';

/** More than a program nests, and few enough for its limit of open files. Further queries wait. */
const connectionsMax = 16;

export interface ReadingDialect extends Dialect {
  /** Closes the connections; one that a stream or a transaction uses, at the end of that. */
  close(): void;
}

/**
 * Reads through `first` and connections that `open` opens. Queries share one, as each ends before the next one begins. A
 * stream or a transaction keeps its own for as long as the program takes, so what is asked meanwhile gets another one: it may
 * be asked from within, and would wait for itself.
 */
export function readingDialect(first: SqliteConnection, open: () => SqliteConnection): ReadingDialect {
  const parts = new SqliteDialect({ database: first.raw });
  const connections = new ReadingConnections(first, open);
  return {
    createAdapter: () => new ReadingAdapter(),
    createDriver: () => driverOver(parts.createDriver(), connections),
    createIntrospector: (db) => parts.createIntrospector(db),
    createQueryCompiler: () => parts.createQueryCompiler(),
    close: () => connections.close(),
  };
}

class ReadingAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** `statements` executes those of transactions, on the connection it is given. */
function driverOver(statements: Driver, connections: ReadingConnections): Driver {
  return {
    init: async () => {},
    acquireConnection: () => connections.acquire(),
    beginTransaction: (connection, settings) => statements.beginTransaction(connection, settings),
    commitTransaction: (connection) => statements.commitTransaction(connection),
    rollbackTransaction: (connection) => statements.rollbackTransaction(connection),
    savepoint: async (...parts) => await statements.savepoint?.(...parts),
    rollbackToSavepoint: async (...parts) => await statements.rollbackToSavepoint?.(...parts),
    releaseSavepoint: async (...parts) => await statements.releaseSavepoint?.(...parts),
    releaseConnection: async (connection) => connections.release(connection),
    destroy: async () => connections.close(),
  };
}

class ReadingConnection implements DatabaseConnection {
  constructor(readonly opened: SqliteConnection) {}

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const statement = this.opened.raw.prepare<[readonly unknown[]], Row>(sql);
    if (statement.reader) return { rows: statement.all(parameters) };
    statement.run(parameters);
    return { rows: [] };
  }

  async *streamQuery<Row>({ sql, parameters }: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    const statement = this.opened.raw.prepare<[readonly unknown[]], Row>(sql);
    for (const row of statement.iterate(parameters)) yield { rows: [row] };
  }
}

interface Waiting {
  give(connection: ReadingConnection): void;
  refuse(error: unknown): void;
}

class ReadingConnections {
  readonly #open: () => SqliteConnection;
  readonly #busy = new Set<DatabaseConnection>();
  /** One is enough for queries. */
  #idle: ReadingConnection | null;
  readonly #waiting: Waiting[] = [];
  #isClosed = false;

  constructor(first: SqliteConnection, open: () => SqliteConnection) {
    this.#idle = new ReadingConnection(first);
    this.#open = open;
  }

  async acquire(): Promise<DatabaseConnection> {
    if (this.#isClosed) throw closed();
    if (this.#idle !== null) {
      const idle = this.#idle;
      this.#idle = null;
      this.#busy.add(idle);
      return idle;
    }
    return await new Promise<DatabaseConnection>((give, refuse) => {
      this.#waiting.push({ give, refuse });
      // Queries have ended by then; what has not is a stream or a transaction.
      setImmediate(() => this.#relieve());
    });
  }

  release(connection: DatabaseConnection): void {
    if (!(connection instanceof ReadingConnection) || !this.#busy.has(connection)) return;
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next.give(connection);
      return;
    }
    this.#busy.delete(connection);
    if (this.#isClosed || this.#idle !== null) connection.opened.close();
    else this.#idle = connection;
  }

  close(): void {
    this.#isClosed = true;
    for (const { refuse } of this.#waiting.splice(0)) refuse(closed());
    this.#idle?.opened.close();
    this.#idle = null;
  }

  /** Gives another connection to the query that waits longest. */
  #relieve(): void {
    if (this.#busy.size >= connectionsMax) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    try {
      const connection = new ReadingConnection(this.#open());
      this.#busy.add(connection);
      next.give(connection);
    } catch (error) {
      next.refuse(error);
    }
  }
}

/** What SQLite's driver says. */
const closed = (): TypeError => new TypeError('The database connection is not open');
