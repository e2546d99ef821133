import type { PostgresCursor, PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { storableValue } from './values.js';

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
      await client.query(
        `DECLARE rosterd_stream NO SCROLL CURSOR FOR ${this.sql}`,
        this.parameters.map(storableValue),
      );
    }
    return (await client.query(`FETCH ${rows} FROM rosterd_stream`)).rows as Row[];
  }

  /** Rolls the transaction back, which closes the cursor. */
  async close(): Promise<void> {
    if (this.#declared) await this.#clientOrThrow().query('ROLLBACK');
  }

  #clientOrThrow(): pg.PoolClient {
    if (this.#client === undefined) throw new Error('the cursor has no connection');
    return this.#client;
  }
}

/** Adapts the pool to Kysely: a connection that is given a `DeclaredCursor` as its query runs that cursor. */
export function withCursors(pool: pg.Pool): PostgresPool {
  return {
    connect: async () => wrapped(await pool.connect()),
    end: () => pool.end(),
    options: pool.options,
  };
}

/** One wrapper per connection, because Kysely compares connections by identity. */
const wrappers = new WeakMap<pg.PoolClient, PostgresPoolClient>();

function wrapped(client: pg.PoolClient): PostgresPoolClient {
  const existing = wrappers.get(client);
  if (existing !== undefined) return existing;
  const query = (request: unknown, parameters?: readonly unknown[]) =>
    request instanceof DeclaredCursor
      ? request.on(client)
      : client.query(request as string, parameters?.map(storableValue));
  // Kysely passes true for a connection whose transaction could not be ended: it is destroyed, not reused.
  const release = (destroy?: boolean) => client.release(destroy);
  const wrapper = { query, release } as PostgresPoolClient;
  wrappers.set(client, wrapper);
  return wrapper;
}
