import type pg from 'pg';
import type { Ask, AskRows, Snapshots } from '../port.js';
import { beginLongSnapshot, beginSnapshot } from './cursor.js';
import { endOfSession } from './end-of-session.js';
import { namingHolders } from './lock-holders.js';
import { withNamedRights } from './missing-rights.js';
import { openPostgres, type PostgresDatabase, shortQueries } from './open.js';
import { numbered } from './placeholders.js';
import { storableValue } from './storable-value.js';

/** How long a person waits for a status while a migration or another transaction has locked the mirror. */
const lockTimeoutMsDefault = 5_000;

/** Throws `database_busy`, which names who has locked the mirror, if a lock is not granted in time. */
export async function postgresSnapshot<Result>(
  url: string,
  work: (ask: Ask) => Promise<Result>,
  lockTimeoutMs = lockTimeoutMsDefault,
): Promise<Result> {
  const opened = await openPostgres(url, { readonly: true, max: 1, lockTimeoutMs });
  try {
    return await snapshotOn(opened, work);
  } catch (error) {
    throw await namingHolders(opened, error, 'Nothing was read.');
  } finally {
    await opened.close();
  }
}

/** The rows of a result kept in memory. */
const rowsPerFetch = 1_000;

/** The same for results of any size, each read through a server-side cursor. */
export async function postgresRowSnapshot<Result>(
  url: string,
  work: (ask: AskRows) => Promise<Result>,
): Promise<Result> {
  const opened = await openPostgres(url, { readonly: true, max: 1 });
  try {
    return await transactionOn(opened, beginLongSnapshot(opened), (client) =>
      work(async function* <Row>(sql: string, values: readonly (string | number)[] = []) {
        await client.query(
          `DECLARE rosterd_rows NO SCROLL CURSOR FOR ${numbered(sql)}`,
          values.map(storableValue),
        );
        for (;;) {
          const { rows } = await client.query(`FETCH ${rowsPerFetch} FROM rosterd_rows`);
          yield* rows as Row[];
          if (rows.length < rowsPerFetch) break;
        }
        await client.query('CLOSE rosterd_rows');
      }),
    );
  } finally {
    await opened.close();
  }
}

/** Longer than the usual interval between scrapes, so that the connection is reused. */
const idleMs = 5 * 60_000;
/** A connection on which one query takes longer is lost: no query of a status takes that long. */
const answerMillisDefault = 60_000;
/** The part of it that a query may wait for a lock: 5 s. */
const lockShare = 1 / 12;

/** Snapshots on pooled connections. After a failure the next snapshot reconnects, and reads the password again. */
export class KeptSnapshots implements Snapshots {
  #opened: Promise<PostgresDatabase> | null = null;

  constructor(
    private readonly url: () => Promise<string>,
    private readonly answerMillis = answerMillisDefault,
  ) {}

  async take<Result>(work: (ask: Ask) => Promise<Result>): Promise<Result> {
    // Supervisors give up after seconds, and want to know why.
    const lockTimeoutMs = Math.ceil(lockShare * this.answerMillis);
    const limits = { ...shortQueries(this.answerMillis), lockTimeoutMs };
    this.#opened ??= this.url().then((url) =>
      openPostgres(url, { readonly: true, max: 2, idleMs, ...limits }),
    );
    const opened = this.#opened;
    try {
      return await snapshotOn(await opened, work);
    } catch (error) {
      if (this.#opened === opened) this.#opened = null;
      void closed(opened);
      throw error;
    }
  }

  /** Fails running snapshots: a server that does not answer would keep the process up. */
  async close(): Promise<void> {
    await this.#opened?.then((database) => database.abandon()).catch(() => {});
    await closed(this.#opened);
  }
}

/** Closes the pool after running snapshots have ended. Ignores errors of opening and closing. */
async function closed(opened: Promise<PostgresDatabase> | null): Promise<void> {
  await opened?.then((database) => database.close()).catch(() => {});
}

function snapshotOn<Result>(
  database: PostgresDatabase,
  work: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  return transactionOn(database, beginSnapshot, (client) =>
    work(async (text, ...values) => {
      const sql = text.reduce((before, part, at) => `${before}$${at}${part}`);
      return (await client.query(sql, values.map(storableValue))).rows;
    }),
  );
}

function transactionOn<Result>(
  database: PostgresDatabase,
  begin: string,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  return withNamedRights(database, async () => {
    const client = await database.pool.connect();
    let usable = false;
    try {
      await client.query(begin);
      const result = await work(client);
      await client.query('COMMIT');
      usable = true;
      return result;
    } catch (error) {
      throw endOfSession(client, error);
    } finally {
      client.release(!usable);
    }
  });
}
