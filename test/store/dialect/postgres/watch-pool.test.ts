import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { isFault } from '../../../../src/domain/fault.js';
import type { Clock } from '../../../../src/runtime/clock.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { inTransaction } from '../../../../src/store/dialect/postgres/transaction.js';
import { watchPool } from '../../../../src/store/dialect/postgres/watch-pool.js';
import { freshDatabase } from '../../../postgres/fresh-database.js';
import { wayTo } from '../../../postgres/way-to.js';

/** A clock whose waits end when the test says so, each a minute after the one before. */
class PushedClock implements Clock {
  #millis = 0;
  #next: (() => void) | null = null;
  #waiting: () => void = () => {};
  now = () => this.#millis;
  monotonic = () => this.#millis;
  wait: Clock['wait'] = (_, signal) =>
    new Promise((resolve) => {
      this.#next = resolve;
      signal?.addEventListener('abort', () => resolve(), { once: true });
      this.#waiting();
    });
  /** Ends the present wait and resolves when the next one begins. */
  async push(): Promise<void> {
    const next = new Promise<void>((resolve) => {
      this.#waiting = resolve;
    });
    this.#millis += 60_000;
    this.#next?.();
    await next;
  }
}

async function watched(url: string) {
  const database = await openPostgres(url, { max: 2 });
  const clock = new PushedClock();
  const watch = watchPool(database.pool, url, clock);
  onTestFinished(async () => {
    await watch.close();
    await database.close();
  });
  return { database, clock };
}

/** Begins a transaction, loses its connection and returns what becomes of it. */
async function losing(
  database: PostgresDatabase,
  lose: () => void,
): Promise<{ readonly outcome: Promise<unknown> }> {
  return await new Promise((resolve) => {
    const outcome = inTransaction(database, async (transaction) => {
      await transaction.rows('SELECT 1');
      lose();
      resolve({ outcome });
      return await transaction.rows('SELECT 2');
    }).catch((error: unknown) => error);
  });
}

const busy = expect.toSatisfy((error: unknown) => isFault(error, 'database_busy'));

test('a connection that the network dropped without a word is closed, and the pool replaces it', async () => {
  const way = await wayTo((await freshDatabase()).url);
  const { database, clock } = await watched(way.url);
  const { outcome } = await losing(database, way.swallow);
  let ended: unknown = null;
  void outcome.then((error) => {
    ended = error;
  });
  // Two looks, and more where a busy server answers one of them later than a second.
  await expect
    .poll(async () => {
      await clock.push();
      return ended;
    })
    .toEqual(busy);
  expect(await inTransaction(database, (transaction) => transaction.rows('SELECT 3 AS n'))).toEqual([
    { n: 3 },
  ]);
});

test('a connection to a server that does not answer is closed after three lost answers', async () => {
  const way = await wayTo((await freshDatabase()).url);
  const { database, clock } = await watched(way.url);
  const { outcome } = await losing(database, () => {
    way.swallow();
    way.refuse();
  });
  let ended = false;
  void outcome.then(() => {
    ended = true;
  });
  await clock.push();
  await clock.push();
  expect(ended).toBe(false);
  await clock.push();
  expect(await outcome).toEqual(busy);
});

test('a transaction that sends statements between two looks is not closed', async () => {
  const { database, clock } = await watched((await freshDatabase()).url);
  const done = await inTransaction(database, async (transaction) => {
    for (let turn = 0; turn < 4; turn += 1) {
      await transaction.rows('SELECT 1');
      await clock.push();
    }
    return await transaction.rows('SELECT 5 AS n');
  });
  expect(done).toEqual([{ n: 5 }]);
});

test('a statement that the server still works on is not closed, however long it takes', async () => {
  const { url } = await freshDatabase();
  const { database, clock } = await watched(url);
  const holder = new pg.Client(url);
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('BEGIN; SELECT pg_advisory_xact_lock(1)');
  const waiting = inTransaction(database, (transaction) =>
    transaction.rows('SELECT 4 AS n FROM pg_advisory_xact_lock(1)'),
  );
  const waits = async () => {
    const { rows } = await holder.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()",
    );
    return rows.length;
  };
  await expect.poll(waits).toBe(1);
  for (let turn = 0; turn < 4; turn += 1) await clock.push();
  await holder.query('ROLLBACK');
  expect(await waiting).toEqual([{ n: 4 }]);
});
