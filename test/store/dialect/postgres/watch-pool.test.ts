import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { isFault } from '../../../../src/domain/fault.js';
import type { Clock } from '../../../../src/runtime/clock.js';
import { openPostgres, type PostgresDatabase } from '../../../../src/store/dialect/postgres/open.js';
import { inTransaction } from '../../../../src/store/dialect/postgres/transaction.js';
import { watchPool } from '../../../../src/store/dialect/postgres/watch-pool.js';
import { freshDatabase } from '../../../postgres/fresh-database.js';
import { proxyTo } from '../../../postgres/proxy.js';
import { wayTo } from '../../../postgres/way-to.js';

const pauseMillis = 10_000;
const answerMillis = 5_000;

/** A clock that stands still until the test moves it. Each look of the watch is a minute after the one before. */
class PushedClock implements Clock {
  #millis = 0;
  readonly #waits = new Set<{ readonly at: number; readonly end: () => void }>();
  readonly #begun = new Map<number, () => void>();
  now = () => this.#millis;
  monotonic = () => this.#millis;
  wait: Clock['wait'] = (millis, signal) =>
    new Promise((resolve) => {
      const wait = { at: this.#millis + millis, end: () => end() };
      const end = () => {
        this.#waits.delete(wait);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      this.#waits.add(wait);
      signal?.addEventListener('abort', end, { once: true });
      this.#begun.get(millis)?.();
    });
  pass(millis: number): void {
    this.#millis += millis;
    for (const { at, end } of [...this.#waits]) if (at <= this.#millis) end();
  }
  /** Ends the pause between two looks. Resolves when the next pause begins. */
  async push(): Promise<void> {
    const next = this.next(pauseMillis);
    this.pass(60_000);
    await next;
  }
  /** Resolves when a wait of this length begins. */
  next(wanted: number): Promise<void> {
    return new Promise((resolve) => this.#begun.set(wanted, resolve));
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
  await clock.push();
  await clock.push();
  expect(await outcome).toEqual(busy);
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

test('a busy server may take five seconds to answer a look, and is lost after three looks that took longer', async () => {
  const held: (() => void)[] = [];
  let isBusy = false;
  const way = await proxyTo((await freshDatabase()).url, (near, far) => {
    const begin = () => void near.pipe(far).pipe(near);
    if (isBusy) held.push(begin);
    else begin();
  });
  const { database, clock } = await watched(way.url);
  /** Begins a look, and lets so many milliseconds pass before the server answers it. */
  const look = async (millis: number) => {
    const [asked, next] = [clock.next(answerMillis), clock.next(pauseMillis)];
    clock.pass(60_000);
    await asked;
    await expect.poll(() => held.length, { timeout: 60_000 }).toBe(1);
    clock.pass(millis);
    for (const begin of held.splice(0)) begin();
    await next;
  };
  const looks = (count: number, millis: number) =>
    inTransaction(database, async (transaction) => {
      for (let turn = 0; turn < count; turn += 1) {
        await transaction.rows('SELECT 1');
        isBusy = true;
        await look(millis);
      }
      return await transaction.rows('SELECT 6 AS n');
    });
  expect(await looks(4, answerMillis - 1)).toEqual([{ n: 6 }]);
  expect(await looks(2, answerMillis)).toEqual([{ n: 6 }]);
  // Two answers were missing already.
  expect(await looks(1, answerMillis).catch((error: unknown) => error)).toEqual(busy);
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
