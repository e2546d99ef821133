import type { PostgresCursor, PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';

/**
 * Reads an answer of any size in pieces, which Kysely's `stream` asks for. A cursor of the server itself, in a
 * transaction of its own that sees one state: everything that speaks PostgreSQL's protocol knows DECLARE and FETCH.
 */
export class DeclaredCursor<Row> implements PostgresCursor<Row> {
  #client: pg.PoolClient | undefined;
  #declared = false;

  constructor(
    private readonly sql: string,
    private readonly parameters: unknown[],
  ) {}

  on(client: pg.PoolClient): this {
    this.#client = client;
    return this;
  }

  async read(rows: number): Promise<Row[]> {
    const client = this.#clientOrThrow();
    if (!this.#declared) {
      this.#declared = true;
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
      await client.query(`DECLARE rosterd_stream NO SCROLL CURSOR FOR ${this.sql}`, this.parameters);
    }
    return (await client.query(`FETCH ${rows} FROM rosterd_stream`)).rows as Row[];
  }

  /** The end of the transaction is the end of the cursor; after a failure the server does the same. */
  async close(): Promise<void> {
    if (this.#declared) await this.#clientOrThrow().query('ROLLBACK');
  }

  #clientOrThrow(): pg.PoolClient {
    if (this.#client === undefined) throw new Error('a cursor without a connection');
    return this.#client;
  }
}

/** The pool as Kysely wants it: a connection that is handed a cursor lends itself to it. */
export function withCursors(pool: pg.Pool): PostgresPool {
  return {
    connect: async () => lending(await pool.connect()),
    end: () => pool.end(),
    options: pool.options,
  };
}

/** One for each connection, because Kysely knows its connections by identity. */
const known = new WeakMap<pg.PoolClient, PostgresPoolClient>();

function lending(client: pg.PoolClient): PostgresPoolClient {
  const before = known.get(client);
  if (before !== undefined) return before;
  const query = (asked: unknown, parameters?: readonly unknown[]) =>
    asked instanceof DeclaredCursor
      ? asked.on(client)
      : client.query(asked as string, parameters as unknown[] | undefined);
  // A connection whose transaction could not be ended is to be destroyed, not handed to the next who asks.
  const release = (destroy?: boolean) => client.release(destroy);
  const lent = { query, release } as PostgresPoolClient;
  known.set(client, lent);
  return lent;
}
