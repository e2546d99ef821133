import { setImmediate } from 'node:timers/promises';
import type pg from 'pg';
import { storableText } from '../../../domain/text.js';
import { withPostgresFaults } from './faults.js';
import type { PostgresDatabase } from './open.js';

/** A statement under a name: a connection parses it once and from then on only runs it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export function statement(name: string, text: string): Statement {
  return { name: `rosterd_${name}`, text };
}

export type Sql = Statement | string;

/** What one transaction may do. Statements reach the server in the order in which they are called here. */
export interface Transaction {
  rows<Row>(sql: Sql, ...values: readonly unknown[]): Promise<Row[]>;
  row<Row>(sql: Sql, ...values: readonly unknown[]): Promise<Row | undefined>;
  /** Answers how many rows it concerned. */
  run(sql: Sql, ...values: readonly unknown[]): Promise<number>;
  /** For a write whose answer nobody needs: sent on without a wait. If it fails, the transaction does. */
  send(sql: Sql, ...values: readonly unknown[]): void;
  /**
   * Without a way there and back: what was sent so far and failed on our side of the wire has failed by then, and
   * everything after it fails too. The server knows nothing of such a failure, and would go on without a beginning.
   */
  sent(): Promise<void>;
}

export interface TransactionOptions {
  /** What a power cut may take, because it is fetched again: the last of it need not be on disk at commit. */
  readonly mayBeLost?: boolean;
}

/** A lock that did not come free in this time is somebody else's mistake; we try again later. */
const lockTimeoutMs = 10_000;
/**
 * A process that froze or lost its network inside a transaction holds the lock of its source: the server ends it
 * after this, so that another host can take over.
 */
const idleTimeoutMs = 10_000;

const begin = (mayBeLost: boolean) =>
  [
    'BEGIN',
    `SET LOCAL lock_timeout = ${lockTimeoutMs}`,
    'SET LOCAL statement_timeout = 0',
    `SET LOCAL idle_in_transaction_session_timeout = ${idleTimeoutMs}`,
    // Compiling a statement of forty columns costs more than running it.
    'SET LOCAL jit = off',
    ...(mayBeLost ? ['SET LOCAL synchronous_commit = off'] : []),
  ].join('; ');

/** Takes `mayBeLost` back, for a transaction that turns out to hold what must be on disk. */
export const mustLast = 'SET LOCAL synchronous_commit TO DEFAULT';

/**
 * One transaction on a connection of its own. Its settings are local to it, so that a pooler between us and the
 * server may hand the session to somebody else afterwards.
 */
export function inTransaction<Result>(
  database: PostgresDatabase,
  work: (transaction: Transaction) => Promise<Result>,
  { mayBeLost = false }: TransactionOptions = {},
): Promise<Result> {
  return withPostgresFaults(database.url, async () => {
    const client = await database.pool.connect();
    const running = new Running(client);
    let broken: Error | boolean = false;
    try {
      running.send(begin(mayBeLost));
      const result = await work(running);
      await running.commit();
      return result;
    } catch (error) {
      broken = await rollBack(client);
      throw running.firstFailure ?? error;
    } finally {
      client.release(broken);
    }
  });
}

class Running implements Transaction {
  /** What failed first tells why; everything after it fails because of it. */
  firstFailure: unknown;
  readonly #sent: Promise<unknown>[] = [];

  constructor(private readonly client: pg.PoolClient) {}

  async rows<Row>(sql: Sql, ...values: readonly unknown[]): Promise<Row[]> {
    return (await this.#query(sql, values)).rows as Row[];
  }

  async row<Row>(sql: Sql, ...values: readonly unknown[]): Promise<Row | undefined> {
    return (await this.rows<Row>(sql, ...values))[0];
  }

  async run(sql: Sql, ...values: readonly unknown[]): Promise<number> {
    return (await this.#query(sql, values)).rowCount ?? 0;
  }

  send(sql: Sql, ...values: readonly unknown[]): void {
    this.#sent.push(this.#query(sql, values).catch(() => {}));
  }

  /** The driver tells it at the end of this turn. */
  async sent(): Promise<void> {
    await setImmediate();
    if (this.firstFailure !== undefined) throw this.firstFailure;
  }

  /**
   * Behind everything sent, without a wait for its answers: after a statement that failed the server turns the commit
   * into a rollback, and says so.
   */
  async commit(): Promise<void> {
    await this.sent();
    const answer = this.#query('COMMIT', []);
    await Promise.allSettled([...this.#sent, answer]);
    if (this.firstFailure !== undefined) throw this.firstFailure;
    const { command } = await answer;
    if (command !== 'COMMIT') throw new Error('a transaction was rolled back unnoticed');
  }

  async #query(sql: Sql, values: readonly unknown[]): Promise<pg.QueryResult> {
    // Without its beginning, or after a failure the server does not know of, nothing may be written any more.
    if (this.firstFailure !== undefined) throw this.firstFailure;
    try {
      return await this.client.query(
        typeof sql === 'string' ? { text: sql } : { ...sql },
        values.map(storable),
      );
    } catch (error) {
      this.firstFailure ??= error;
      throw error;
    }
  }
}

/** PostgreSQL has no NUL in a text; the driver itself takes care of halves of a pair. */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('\0') ? storableText(value) : value;
  return Array.isArray(value) ? value.map(storable) : value;
}

/** Answers what the pool should know of the connection: one that cannot roll back is thrown away. */
async function rollBack(client: pg.PoolClient): Promise<Error | boolean> {
  try {
    await client.query('ROLLBACK');
    return false;
  } catch (error) {
    return error instanceof Error ? error : true;
  }
}
