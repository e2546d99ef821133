import { expect, onTestFinished, test, vi } from 'vitest';
import { Fault, reaction } from '../../../../src/domain/fault.js';
import type { FeedItem } from '../../../../src/domain/investment.js';
import type { Cents } from '../../../../src/domain/money.js';
import type { Cursor } from '../../../../src/domain/position.js';
import { Interrupter } from '../../../../src/runtime/interruption.js';
import { seededRandom } from '../../../../src/runtime/random.js';
import { countListing, type Turn } from '../../../../src/store/dialect/sqlite/count-listing.js';
import { buildIndexes } from '../../../../src/store/dialect/sqlite/indexes.js';
import { ListingProcess } from '../../../../src/store/dialect/sqlite/listing-process.js';
import { type PerformTask, performListingTask } from '../../../../src/store/dialect/sqlite/listing-work.js';
import { openSqlite } from '../../../../src/store/dialect/sqlite/open.js';
import type {
  LargeListings,
  ListingHelper,
} from '../../../../src/store/dialect/sqlite/prepare-publication.js';
import { failureOf } from '../../../../src/sync/failure-of.js';
import { canonicalDump } from '../../canonical-dump.js';
import { aReader, cautious, migratedDatabase, mirrorFixture } from '../../mirror-fixture.js';
import { identity, listingPage, record } from '../../samples.js';
import { StandingClock } from '../../support/mirror.js';

const accepted = { share: 1, rows: 0, accepted: true };
const totals = ['round_totals', 'daily_raised', 'investor_totals'] as const;

/** More investors than the child process writes in one commit. */
const crowd = (size: number): FeedItem[] =>
  Array.from({ length: size }, (_, n) =>
    record(`inv_${n}`, {
      investor_id: n % 50 === 0 ? null : `usr_${(n * 7_919) % 11_000}`,
      offering_id: n % 7 === 0 ? null : `ofr_${n % 5}`,
      committed_cents: (n % 11 === 0 ? null : n) as Cents | null,
      currency: n % 3 === 0 ? 'usd' : null,
    }),
  );

/** Prepares with tasks performed on a second connection. `around` sees each of them. */
function onSecondConnection(
  file: string,
  around: (kind: string, perform: () => Promise<unknown>) => Promise<unknown> = (_, perform) => perform(),
  pause: () => Promise<void> = async () => {},
): LargeListings {
  return {
    rowsAtOnce: 0,
    start: (): ListingHelper => {
      const second = openSqlite(file);
      const turn: Turn = async (commit) => {
        const result = commit();
        await pause();
        return result;
      };
      const perform = (async (task: Parameters<PerformTask>[0]) =>
        around(task.kind, async () =>
          task.kind === 'count'
            ? await countListing(second.raw, task, turn, new StandingClock())
            : performListingTask(second.raw, task),
        )) as PerformTask;
      return { perform, end: async () => second.close() };
    },
  };
}

test('a mirror whose large listings are prepared in a child process stores the same as one without', async () => {
  const dumpOf = async (apart: boolean) => {
    const database = migratedDatabase();
    const large = { rowsAtOnce: 0, start: () => new ListingProcess(database.file) };
    const { store, list, delta } = await mirrorFixture({ database, ...(apart ? { large } : {}) });
    const first = await list([crowd(60).slice(0, 40), crowd(60)]);
    const relisted = [
      ...crowd(58).filter((_, n) => n % 10 !== 3),
      record('inv_59', {}, identity('New')),
      record('inv_new'),
    ];
    const braked = await list([relisted.slice(0, 20), relisted.slice(20)], 'relist', {
      share: 0.05,
      rows: 2,
      accepted: false,
    });
    const second = await list([relisted.slice(0, 20), relisted.slice(20)], 'relist', accepted);
    await delta([record('inv_1', { committed_cents: 1 as Cents })]);
    return { first, braked, second, dump: await canonicalDump(store) };
  };
  const [apart, here] = [await dumpOf(true), await dumpOf(false)];
  expect(here.braked.brake).not.toBeNull();
  expect(apart).toEqual(here);
});

test('totals computed ahead are invisible until the commit that publishes their rows', async () => {
  const database = migratedDatabase();
  const seen: unknown[] = [];
  const read = await aReader({ kind: 'sqlite', sqlite: database });
  const look = async () => {
    for (const view of totals) seen.push(...(await read(`SELECT * FROM ${view}`)));
  };
  const large = onSecondConnection(
    database.file,
    async (_, perform) => {
      const result = await perform();
      await look();
      return result;
    },
    look,
  );
  const { list } = await mirrorFixture({ database, large });
  await list([crowd(5_200)]);
  expect(seen).toEqual([]);
  for (const view of totals) expect(await read(`SELECT * FROM ${view} LIMIT 1`), view).toHaveLength(1);
  expect(await read('SELECT * FROM counted_listings')).toEqual([]);
});

test('totals are computed beside the indexes, and once more when an id that was named twice had two rows', async () => {
  const tasksOf = async (pages: FeedItem[][]) => {
    const database = migratedDatabase();
    const read = await aReader({ kind: 'sqlite', sqlite: database });
    let counted = () => {};
    const early = new Promise<void>((resolve) => {
      counted = resolve;
    });
    const tasks: string[] = [];
    const large = onSecondConnection(database.file, async (kind, perform) => {
      tasks.push(kind);
      if (kind === 'index') await early;
      const result = await perform();
      if (kind === 'count') counted();
      return result;
    });
    const { list } = await mirrorFixture({ database, large });
    await list(pages);
    expect(await read('SELECT sum(investments) AS n FROM daily_raised')).toEqual([{ n: 30 }]);
    expect(await read('SELECT sum(investments) AS n FROM investor_totals')).toEqual([{ n: 29 }]);
    return tasks;
  };
  const indexes = Array.from({ length: 8 }, () => 'index');
  expect(await tasksOf([crowd(30)])).toEqual(['index', 'count', ...indexes]);
  expect(await tasksOf([crowd(30), crowd(30).slice(10, 20)])).toEqual([
    'index',
    'count',
    ...indexes,
    'count',
  ]);
});

test('a helper for the totals that cannot be started fails the publication before an index is begun', async () => {
  const database = migratedDatabase();
  const tasks: string[] = [];
  const { start, rowsAtOnce } = onSecondConnection(database.file, async (kind, perform) => {
    tasks.push(kind);
    return await perform();
  });
  let started = 0;
  const large: LargeListings = {
    rowsAtOnce,
    start: () => {
      started += 1;
      if (started === 2) throw new Fault('database_busy', 'the process could not be started');
      return start();
    },
  };
  const { collect, mirror, lease } = await mirrorFixture({ database, large });
  const final = await collect([crowd(20)]);
  await expect(mirror.publishListing(lease, final, cautious)).rejects.toThrow('could not be started');
  expect(tasks).toEqual([]);
});

test('a publication that ended at any commit of its preparation counts nothing twice when it is repeated', async () => {
  const expected = await published({});
  for (const endsAt of [1, 2, 3]) {
    const ended = await published({ endsAt, again: 'apart' });
    expect(ended, `ended at pause ${endsAt}, then prepared again`).toEqual(expected);
    expect(
      await published({ endsAt, again: 'here' }),
      `ended at pause ${endsAt}, then by the commit`,
    ).toEqual(expected);
  }
  expect(await published({ endsAt: 2, again: 'new listing' })).toEqual(expected);
});

/** Lists a crowd and returns its totals. The first attempt to publish ends after the n-th commit of its preparation. */
async function published({
  endsAt,
  again,
}: {
  endsAt?: number;
  again?: 'apart' | 'here' | 'new listing';
}): Promise<unknown> {
  const database = migratedDatabase();
  let pauses = 0;
  const large = onSecondConnection(
    database.file,
    (_, perform) => perform(),
    async () => {
      pauses += 1;
      if (pauses === endsAt) throw new Error('killed');
    },
  );
  const { collect, mirror, lease, rows } = await mirrorFixture({ database, large });
  let final = await collect([crowd(5_200)]);
  if (endsAt !== undefined) {
    await expect(mirror.publishListing(lease, final, cautious)).rejects.toThrow('killed');
    if (again === 'new listing') final = await collect([crowd(5_200)]);
  }
  const other = again === 'here' ? (await mirrorFixture({ database })).mirror : mirror;
  const holder = again === 'here' ? (await other.open(acmeAgain, 'tester')).lease : lease;
  await other.publishListing(holder, final, cautious);
  return Promise.all(totals.map((view) => rows(`SELECT * FROM ${view} ORDER BY 1, 2, 3, 4, 5`)));
}
const acmeAgain = { name: 'acme', fingerprint: 'f1' } as never;

test('a helper whose source was taken over writes no totals', async () => {
  const database = migratedDatabase();
  const { collect, mirror, lease, rows } = await mirrorFixture({
    database,
    large: onSecondConnection(database.file, async (kind, perform) => {
      if (kind === 'count') database.raw.exec('UPDATE leases SET fence = fence + 1');
      return perform();
    }),
  });
  const final = await collect([crowd(20)]);
  await expect(mirror.publishListing(lease, final, cautious)).rejects.toMatchObject({ code: 'lease_lost' });
  expect(await rows('SELECT count(*) AS n FROM investor_rows')).toEqual([{ n: 0 }]);
});

test('each commit of totals takes a turn, and writers of the mirror may write in between', async () => {
  const database = migratedDatabase();
  // Indexes are not built in these turns, and would have to wait for them.
  buildIndexes(database.raw);
  let turns = 0;
  const large: LargeListings = {
    rowsAtOnce: 0,
    start: () =>
      new ListingProcess(database.file, async (commit) => {
        // This connection would have to wait for the process if it wrote without its turn.
        database.raw.exec('UPDATE sources SET rows_held = rows_held');
        turns += 1;
        await commit();
      }),
  };
  const { list, rows } = await mirrorFixture({ database, large });
  await list([crowd(5_200)]);
  // Two commits that note the state, two of investors or more where they are slow, and one that finds no more.
  expect(turns).toBeGreaterThanOrEqual(5);
  expect(await rows('SELECT sum(investments) AS n FROM investor_totals')).toEqual([{ n: 5_096 }]);
});

test.each([
  ['in its turn', (commit: () => Promise<void>, end: () => Promise<void>) => Promise.all([commit(), end()])],
  ['before its turn', (commit: () => Promise<void>, end: () => Promise<void>) => end().then(commit)],
])('a process that is killed %s ends the turn and fails the publication', async (_, take) => {
  const database = migratedDatabase();
  let begun = 0;
  let over = 0;
  const large: LargeListings = {
    rowsAtOnce: 0,
    start: () => {
      const helper = new ListingProcess(database.file, async (commit) => {
        begun += 1;
        await take(commit, () => helper.end());
        over += 1;
      });
      return helper;
    },
  };
  const { collect, mirror, lease } = await mirrorFixture({ database, large });
  const final = await collect([crowd(20)]);
  expectRetry(await mirror.publishListing(lease, final, cautious).catch((error: unknown) => error));
  await new Promise(setImmediate);
  // A busy machine may let the process commit and ask for its next turn before it is killed.
  expect(begun).toBeGreaterThan(0);
  expect(over).toBe(begun);
});

test.each([
  ['writes after it', 3],
  ['fails after ten minutes', Number.POSITIVE_INFINITY],
])('while another program has the lock, a commit of totals gives up each turn and %s', async (_, ends) => {
  const database = migratedDatabase();
  const { collect, lease, rows } = await mirrorFixture({ database });
  await collect([crowd(20)]);
  const { raw, file } = database;
  raw.exec('PRAGMA busy_timeout = 0');
  const other = openSqlite(file);
  onTestFinished(() => other.close());
  other.raw.exec('BEGIN IMMEDIATE');
  const clock = new StandingClock();
  let turns = 0;
  const turn: Turn = async (commit) => {
    turns += 1;
    if (turns === ends) other.raw.exec('COMMIT');
    return commit();
  };
  const counting = countListing(raw, { kind: 'count', sourceNo: 1, fence: lease.fence }, turn, clock);
  if (ends === 3) {
    await counting;
    expect(await rows('SELECT state FROM counted_listings')).toEqual([{ state: 'counted' }]);
    return;
  }
  await expect(counting).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
  expect(turns).toBe(1_201);
});

test('a stop ends the totals that wait for the lock of another program', async () => {
  const database = migratedDatabase();
  buildIndexes(database.raw);
  const other = openSqlite(database.file);
  onTestFinished(() => other.close());
  const stopping = new Interrupter();
  const large: LargeListings = {
    rowsAtOnce: 0,
    start: (signal) =>
      new ListingProcess(
        database.file,
        async (commit) => {
          if (!other.raw.inTransaction) other.raw.exec('BEGIN IMMEDIATE');
          await commit();
          stopping.abort();
        },
        signal,
      ),
  };
  const { collect, mirror, lease } = await mirrorFixture({ database, large });
  const final = await collect([crowd(20)]);
  const publishing = mirror.publishListing(lease, final, cautious, stopping);
  await expect(publishing).rejects.toMatchObject({ code: 'stopped' });
});

test('while commits of totals are slow, each has fewer rows than the one before', async () => {
  const database = migratedDatabase();
  const written: number[] = [];
  let millis = 0;
  const slow = { monotonic: () => (millis += 40), wait: async () => {} };
  const { collect, lease } = await mirrorFixture({ database });
  await collect([crowd(5_200)]);
  const task = { kind: 'count', sourceNo: 1, fence: lease.fence } as const;
  const turn: Turn = async (commit) => {
    const result = commit();
    written.push(Number(result));
    return result;
  };
  await countListing(database.raw, task, turn, slow);
  // Half as many each time, because a commit takes twice as long as it should.
  expect(written.slice(1, 6)).toEqual([2_500, 1_250, 625, 313, 157]);
});

test('what an unfinished attempt left is deleted in commits that read no totals of other sources', async () => {
  const database = migratedDatabase();
  const { collect, lease, rows } = await mirrorFixture({ database });
  await collect([crowd(20)]);
  const { raw } = database;
  raw.exec(`INSERT INTO sources (no, name, fingerprint, state, generation, rows_held) VALUES (2, 'kiwi', 'f2', 'listing', 1, 0);
    INSERT INTO counted_listings (source_no, state) VALUES (1, 'counting')`);
  // In turns, so that each slice begins and ends among those of the other source.
  raw.exec(`WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 4000)
    INSERT INTO investor_rows SELECT 1 + i % 2, 'usr_left_' || i, 'USD', 1, 1, 1 FROM c`);
  const asked = vi.spyOn(raw, 'prepare');
  const deleted: number[] = [];
  let millis = 0;
  await countListing(
    raw,
    { kind: 'count', sourceNo: 1, fence: lease.fence },
    async (commit) => {
      const from = asked.mock.calls.length;
      const result = commit();
      if (asked.mock.calls.slice(from).some(([sql]) => sql.startsWith('DELETE')))
        deleted.push(Number(result));
      return result;
    },
    // Each commit takes so long that the next one has the fewest rows.
    { monotonic: () => (millis += 10_000), wait: async () => {} },
  );
  const sql = asked.mock.calls.find(([text]) => text.startsWith('DELETE'))?.[0];
  const plan = raw.prepare<number[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(0, 1, 1);
  expect(plan.map(({ detail }) => detail).join()).toMatch(
    /USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/,
  );
  expect(deleted).toEqual([1_250, 313, 100, 100, 100, 100, 37]);
  expect(
    await rows("SELECT source_no, count(*) AS n FROM investor_rows WHERE investor_id LIKE 'usr_left%'"),
  ).toEqual([{ source_no: 2, n: 2_000 }]);
});

test('rows deleted by another program after a re-listing was prepared are not counted as missing', async () => {
  const database = migratedDatabase();
  const { list, rows } = await mirrorFixture({
    database,
    large: onSecondConnection(database.file, async (kind, perform) => {
      const result = await perform();
      if (kind === 'unseen') database.raw.exec("DELETE FROM investment_rows WHERE id = 'inv_3'");
      return result;
    }),
  });
  await list([crowd(6)]);
  const { applied } = await list([crowd(3)], 'relist', accepted);
  expect(applied.removed).toBe(2);
  expect(await rows('SELECT id FROM investments ORDER BY id')).toEqual([
    { id: 'inv_0' },
    { id: 'inv_1' },
    { id: 'inv_2' },
  ]);
});

test('a killed helper process fails the publication without halting its source, and the next attempt publishes', async () => {
  const database = migratedDatabase();
  let attempts = 0;
  const large: LargeListings = {
    rowsAtOnce: 0,
    start: () => {
      attempts += 1;
      const helper = new ListingProcess(database.file);
      onTestFinished(() => helper.end());
      if (attempts === 1) void helper.end();
      return helper;
    },
  };
  const { mirror, lease, rows } = await mirrorFixture({ database, large });
  await mirror.beginListing(lease, { kind: 'first', fingerprint: 'f1', restarts: 0, notBefore: null });
  await mirror.addListingPage(lease, listingPage(crowd(5), 'end'));
  const publish = () => mirror.publishListing(lease, 'end' as Cursor, cautious);
  expectRetry(await publish().catch((error: unknown) => error));
  expect(await rows('SELECT * FROM investments')).toEqual([]);
  await publish();
  expect(await rows('SELECT id FROM investments')).toHaveLength(5);
});

function expectRetry(error: unknown): void {
  const plan = { backoff: { baseMillis: 1_000, capMillis: 300_000 }, failures: 0 };
  const told = failureOf(error, { ...plan, clock: new StandingClock(), random: seededRandom(1) });
  expect([reaction[told.code], told.message]).toEqual([
    'retry',
    expect.stringContaining('too little memory'),
  ]);
}
