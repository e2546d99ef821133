import { setImmediate } from 'node:timers/promises';
import type pg from 'pg';
import { Turns } from '../../../runtime/turns.js';
import { isStatementLost } from './faults.js';
import { withNamedRights } from './missing-rights.js';
import type { PostgresDatabase } from './open.js';
import { storableValue } from './storable-value.js';
import { idleLimit, withoutTimeLimits } from './time-limits.js';

/** A named prepared statement: each connection parses it once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export function statement(name: string, text: string): Statement {
  return { name: `rosterd_${name}`, text };
}

export type Sql = Statement | string;

/** One open transaction. Statements reach the server in the order of the calls. */
export interface Transaction {
  rows<Row>(sql: Sql, ...values: readonly unknown[]): Promise<Row[]>;
  row<Row>(sql: Sql, ...values: readonly unknown[]): Promise<Row | undefined>;
  /** Returns the number of rows affected. */
  run(sql: Sql, ...values: readonly unknown[]): Promise<number>;
  /** Sends a statement without waiting for its result. If it fails, the transaction fails. */
  send(sql: Sql, ...values: readonly unknown[]): void;
  /**
   * Throws if a statement so far failed on the client's side, without a round trip. The server does not know of such a
   * failure and would run later statements, even outside a transaction if BEGIN was the one that failed.
   */
  throwIfFailed(): Promise<void>;
}

export interface TransactionOptions {
  /** The commit does not wait for the disk, because a power cut may lose it: the data is fetched again. */
  readonly mayBeLost?: boolean;
  /** The time limits of the session hold, too. For work that is as short as what these connections are for. */
  readonly isBrief?: boolean;
}

/** A statement that waits longer for a lock fails with `database_busy` and is retried later. */
export const lockTimeoutMs = 10_000;
/**
 * The server ends transactions that are idle for longer: a process that froze or lost its network would otherwise keep
 * the lock on its source, and no other host could take over.
 */
const idleTimeoutMs = 10_000;

const begin = (database: PostgresDatabase, { mayBeLost = false, isBrief = false }: TransactionOptions) =>
  [
    'BEGIN',
    `SET LOCAL lock_timeout = ${lockTimeoutMs}`,
    isBrief ? idleLimit(idleTimeoutMs) : withoutTimeLimits(database, idleTimeoutMs),
    // JIT-compiling these wide statements costs more than running them.
    'SET LOCAL jit = off',
    ...(mayBeLost ? ['SET LOCAL synchronous_commit = off'] : []),
  ].join('; ');

/** Reverts `mayBeLost`, for a transaction that turned out to need a durable commit. */
export const mustBeDurable = 'SET LOCAL synchronous_commit TO DEFAULT';

/**
 * Runs `work` in one transaction and returns its result. All settings are local to the transaction, so a connection
 * pooler may give the session to another client afterwards. Throws the first failure, as a `Fault` where one applies.
 */
export function inTransaction<Result>(
  database: PostgresDatabase,
  work: (transaction: Transaction) => Promise<Result>,
  options: TransactionOptions = {},
): Promise<Result> {
  return withNamedRights(database, async () => {
    const client = await database.pool.connect();
    const running = new OpenTransaction(client);
    let broken: Error | boolean = false;
    try {
      running.send(begin(database, options));
      const result = await work(running);
      await running.commit();
      return result;
    } catch (error) {
      const failure = running.firstFailure ?? error;
      broken = (await rollBack(client)) || isStatementLost(failure);
      throw failure;
    } finally {
      client.release(broken);
    }
  });
}

/**
 * Returns the transaction that is open on a dedicated connection without pipelining: each statement waits for the one
 * before. Only its `commit` notices every failed statement.
 */
export const transactionOn = (client: pg.ClientBase): Transaction & { commit(): Promise<void> } =>
  new OpenTransaction(client, new Turns(1));

class OpenTransaction implements Transaction {
  /** The first error. Later ones only follow from it. */
  firstFailure: unknown;
  readonly #sent: Promise<unknown>[] = [];

  constructor(
    private readonly client: pg.ClientBase,
    private readonly turns: Turns | null = null,
  ) {}

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

  /** The driver reports such failures by the end of this turn of the event loop. */
  async throwIfFailed(): Promise<void> {
    await setImmediate();
    if (this.firstFailure !== undefined) throw this.firstFailure;
  }

  /**
   * Sends COMMIT without waiting for the results of earlier statements. If one failed, the server rolls back instead and
   * reports ROLLBACK.
   */
  async commit(): Promise<void> {
    await this.throwIfFailed();
    const committed = this.#query('COMMIT', []);
    await Promise.allSettled([...this.#sent, committed]);
    if (this.firstFailure !== undefined) throw this.firstFailure;
    const { command } = await committed;
    if (command !== 'COMMIT') throw new Error('the server rolled the transaction back without an error');
  }

  async #query(sql: Sql, values: readonly unknown[]): Promise<pg.QueryResult> {
    const ask = async () => {
      // After a failed BEGIN, or any failure the server does not know of, nothing may be written.
      if (this.firstFailure !== undefined) throw this.firstFailure;
      return await this.client.query(
        typeof sql === 'string' ? { text: sql } : { ...sql },
        values.map(storableValue),
      );
    };
    try {
      return await (this.turns === null ? ask() : this.turns.take(ask));
    } catch (error) {
      this.firstFailure ??= error;
      throw error;
    }
  }
}

/** Returns the argument for `client.release`: a connection that cannot roll back is destroyed. */
async function rollBack(client: pg.PoolClient): Promise<Error | boolean> {
  try {
    await client.query('ROLLBACK');
    return false;
  } catch (error) {
    return error instanceof Error ? error : true;
  }
}
