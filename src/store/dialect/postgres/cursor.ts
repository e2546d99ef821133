import type { PostgresCursor, PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';

/**
 * Reads a result of any size in batches, for Kysely's `stream`. It uses a server-side cursor in a transaction of its own
 * with one snapshot. DECLARE and FETCH work with every server that speaks PostgreSQL's protocol.
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

  /** Rolls the transaction back, which closes the cursor. */
  async close(): Promise<void> {
    if (this.#declared) await this.#clientOrThrow().query('ROLLBACK');
  }

  #clientOrThrow(): pg.PoolClient {
    if (this.#client === undefined) throw new Error('a cursor without a connection');
    return this.#client;
  }
}

/** Adapts the pool to Kysely: a connection that is given a `DeclaredCursor` as its query runs that cursor. */
export function withCursors(pool: pg.Pool): PostgresPool {
  return {
    connect: async () => lending(await pool.connect()),
    end: () => pool.end(),
    options: pool.options,
  };
}

/** One wrapper per connection, because Kysely compares connections by identity. */
const known = new WeakMap<pg.PoolClient, PostgresPoolClient>();

function lending(client: pg.PoolClient): PostgresPoolClient {
  const before = known.get(client);
  if (before !== undefined) return before;
  const query = (asked: unknown, parameters?: readonly unknown[]) =>
    asked instanceof DeclaredCursor
      ? asked.on(client)
      : client.query(asked as string, parameters as unknown[] | undefined);
  // Kysely passes true for a connection whose transaction could not be ended: it is destroyed, not reused.
  const release = (destroy?: boolean) => client.release(destroy);
  const lent = { query, release } as PostgresPoolClient;
  known.set(client, lent);
  return lent;
}
