import { expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../../../../src/runtime/clock.js';
import type { Interruption } from '../../../../src/runtime/interruption.js';
import { changeChannel } from '../../../../src/store/dialect/postgres/change-channel.js';
import { openChangeSignal } from '../../../../src/store/reads/change-signal.js';
import { followChanges } from '../../../../src/store/reads/changes.js';
import { openReader } from '../../../../src/store/reads/open-reader.js';
import { freshStore, mirrorFixture } from '../../mirror-fixture.js';
import { record } from '../../samples.js';

/** A clock on which no wait ends by itself. */
class NeverClock implements Clock {
  readonly waits: number[] = [];
  millis = 0;
  #end: () => void = () => {};

  now(): number {
    return this.millis;
  }

  monotonic(): number {
    return this.millis;
  }

  wait(millis: number, signal?: Interruption): Promise<void> {
    this.waits.push(millis);
    return new Promise((resolve) => {
      this.#end = () => {
        this.millis += millis;
        resolve();
      };
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** Ends the current wait. */
  pass(): void {
    this.#end();
  }
}

/** Starts a follower of the change feed of a mirror with one record. */
async function follower() {
  const store = await freshStore('postgres');
  if (store.kind !== 'postgres') throw new Error('asked for PostgreSQL');
  const { pool } = store.postgres;
  const mirror = await mirrorFixture({ store });
  await mirror.list([[record('inv_1')]]);
  const { rows } = await pool.query<{ name: string }>('SELECT current_database() AS name');
  const url = new URL(String(pool.options.connectionString));
  const place = { kind: 'postgres', url: url.href, password: null } as const;
  expect(url.pathname).toBe(`/${rows[0]?.name}`);
  const reader = await openReader(place);
  const clock = new NeverClock();
  const news = await openChangeSignal(place, reader.db, clock);
  const stop = new AbortController();
  const seen: (string | null)[] = [];
  const following = (async () => {
    for await (const { id } of followChanges(reader.db, { after: 1 }, news, stop.signal)) seen.push(id);
  })();
  onTestFinished(async () => {
    stop.abort();
    await following;
    await news.close();
    await reader.close();
  });
  // Resolves when the server process is gone: until then the follower does not know that it has to connect again.
  const cut = () =>
    pool.query(
      `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
       WHERE application_name = 'rosterd-changes' AND datname = current_database()`,
    );
  return { ...mirror, pool, clock, seen, cut };
}

test('a follower of the change feed is notified of each commit without polling', async () => {
  const { delta, seen, clock, pool } = await follower();
  await expect.poll(() => clock.waits).toEqual([5_000]);
  await delta([record('inv_2'), record('inv_3')]);
  await expect.poll(() => seen).toEqual(['inv_2', 'inv_3']);
  await pool.query(`SELECT pg_notify(${changeChannel}, 'somebody else')`);
  await delta([record('inv_4')]);
  await expect.poll(() => seen).toEqual(['inv_2', 'inv_3', 'inv_4']);
  expect(new Set(clock.waits)).toEqual(new Set([5_000]));
});

test('a page without a change sends no notification', async () => {
  const { delta, clock, rows } = await follower();
  await expect.poll(() => clock.waits).toEqual([5_000]);
  await delta([record('inv_1')]);
  // Notifications arrive in commit order.
  await delta([record('inv_2')]);
  await expect.poll(() => clock.waits).toEqual([5_000, 5_000]);
  expect(await rows('SELECT max(seq) AS seq FROM changes')).toEqual([{ seq: 2 }]);
});

test('a follower whose connection was cut catches up at its next poll and is notified again', async () => {
  const { delta, seen, clock, cut } = await follower();
  await expect.poll(() => clock.waits).toEqual([5_000]);
  await cut();
  await delta([record('inv_2')]);
  // It polls until it has listened again.
  await expect
    .poll(() => {
      clock.pass();
      return seen;
    })
    .toEqual(['inv_2']);
  await expect
    .poll(() => {
      if (clock.waits.at(-1) !== 5_000 || clock.waits.length < 4) clock.pass();
      return clock.waits.length >= 4 && clock.waits.at(-1) === 5_000;
    })
    .toBe(true);
  await delta([record('inv_3')]);
  await expect.poll(() => seen).toEqual(['inv_2', 'inv_3']);
});
