import type { PostgresCursor, PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import { withEndOfSession } from './end-of-session.js';
import { allRows } from './isolation.js';
import type { PostgresDatabase } from './open.js';
import { storableValue } from './storable-value.js';
import { withoutTimeLimits } from './time-limits.js';

/** All queries of a transaction at this level see the same snapshot, and none sees only a part of a table. */
export const beginSnapshot = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${allRows.replace('SET', 'SET LOCAL')}`;

/**
 * Begins one that may last: what it reads is written to a file or sent on between two batches, for as long as that takes,
 * and the connection is idle meanwhile.
 */
export const beginLongSnapshot = (database: Pick<PostgresDatabase, 'version'>): string =>
  `${beginSnapshot}; ${withoutTimeLimits(database, 0)}`;

/**
 * Reads a result of any size in batches, for Kysely's `stream`. It uses a server-side cursor in a transaction of its own
 * with one snapshot. DECLARE and FETCH work with every server that speaks PostgreSQL's protocol.
 */
export class DeclaredCursor<Row> implements PostgresCursor<Row> {
  #client: pg.PoolClient | undefined;
  #begin = beginSnapshot;
  #declared = false;

  constructor(
    private readonly sql: string,
    private readonly parameters: unknown[],
  ) {}

  /** `begin`: the statements that begin its transaction. */
  on(client: pg.PoolClient, begin: string): this {
    this.#client = client;
    this.#begin = begin;
    return this;
  }

  async read(rows: number): Promise<Row[]> {
    const client = this.#clientOrThrow();
    if (!this.#declared) {
      this.#declared = true;
      await this.begin(client);
      await client.query(
        `DECLARE rosterd_stream NO SCROLL CURSOR FOR ${this.sql}`,
        this.parameters.map(storableValue),
      );
    }
    return await withEndOfSession(client, async () => {
      const { rows: read } = await client.query(`FETCH ${rows} FROM rosterd_stream`);
      return read as Row[];
    });
  }

  async close(): Promise<void> {
    if (this.#declared) await this.end(this.#clientOrThrow());
  }

  protected async begin(client: pg.PoolClient): Promise<void> {
    await client.query(this.#begin);
  }

  /** Rolls the transaction back, which closes the cursor. */
  protected async end(client: pg.PoolClient): Promise<void> {
    // Kysely closes the cursor after a failure too, and throws the error of that instead.
    await withEndOfSession(client, () => client.query('ROLLBACK'));
  }

  #clientOrThrow(): pg.PoolClient {
    if (this.#client === undefined) throw new Error('the cursor has no connection');
    return this.#client;
  }
}

/** The same within a transaction that goes on afterwards. */
export class InnerCursor<Row> extends DeclaredCursor<Row> {
  protected override async begin(): Promise<void> {}

  protected override async end(client: pg.PoolClient): Promise<void> {
    // After an error the server refuses this statement too; the error itself is already on its way.
    await client.query('CLOSE rosterd_stream').catch(() => {});
  }
}

/** Adapts the pool to Kysely: a connection that is given a `DeclaredCursor` as its query runs that cursor. */
export function withCursors(database: Pick<PostgresDatabase, 'pool' | 'version'>): PostgresPool {
  const { pool } = database;
  const begin = beginLongSnapshot(database);
  return {
    connect: async () => wrapped(await pool.connect(), begin),
    end: () => pool.end(),
    options: pool.options,
  };
}

/** The same for one connection of the pool, which the caller releases. */
export function withCursorsOn(client: pg.PoolClient, { options }: pg.Pool): PostgresPool {
  const wrapper = adapted(client, beginSnapshot, () => {});
  return { connect: async () => wrapper, end: async () => {}, options };
}

/** One wrapper per connection, because Kysely compares connections by identity. */
const wrappers = new WeakMap<pg.PoolClient, PostgresPoolClient>();

function wrapped(client: pg.PoolClient, begin: string): PostgresPoolClient {
  const existing = wrappers.get(client);
  if (existing !== undefined) return existing;
  // Kysely passes true for a connection whose transaction could not be ended: it is destroyed, not reused.
  const wrapper = adapted(client, begin, (destroy) => client.release(destroy));
  wrappers.set(client, wrapper);
  return wrapper;
}

function adapted(
  client: pg.PoolClient,
  begin: string,
  release: (destroy?: boolean) => void,
): PostgresPoolClient {
  const query = (request: unknown, parameters?: readonly unknown[]) =>
    request instanceof DeclaredCursor
      ? request.on(client, begin)
      : client.query(request as string, parameters?.map(storableValue));
  return { query, release } as PostgresPoolClient;
}
