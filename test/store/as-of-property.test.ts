import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import type { FeedItem } from '../../src/domain/investment.js';
import type { Cents } from '../../src/domain/money.js';
import { readAsOf as readPostgresAsOf } from '../../src/store/dialect/postgres/as-of.js';
import { readAsOf as readSqliteAsOf } from '../../src/store/dialect/sqlite/as-of.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { investmentColumns } from '../../src/store/reads/columns.js';
import fc from '../support/property.js';
import { freshStore, mirrorFixture, placeOf, SteppingClock, type Store } from './mirror-fixture.js';
import { acme, identity, record, tombstone } from './samples.js';

const id = fc.constantFrom('inv_1', 'inv_2', 'inv_3', 'inv_4');
/** The last one is the largest amount of a record: sums of it are beyond what a number can hold exactly. */
const cents = fc.constantFrom(null, 0, 100, -1, 9_007_199_254_740_991) as fc.Arbitrary<Cents | null>;
const content = fc.record({
  status: fc.constantFrom('active', 'canceled'),
  company_id: fc.constantFrom('co_1', null),
  offering_id: fc.constantFrom('ofr_1', 'ofr_2', null),
  investor_id: fc.constantFrom('usr_1', 'usr_2', null),
  applied_at: fc.constantFrom(
    '2026-01-01T00:00:00.000Z',
    '2026-01-02T23:59:59.999Z',
    null,
  ) as fc.Arbitrary<Instant | null>,
  currency: fc.constantFrom('usd', 'eur', null),
  committed_cents: cents,
  raised_cents: cents,
  in_escrow_cents: cents,
  blockers: fc.constantFrom('[]', '[{"key":"kyc"}]'),
  observed_at: fc.constantFrom(
    '2026-01-01T00:00:00.000Z',
    '2026-01-02T00:00:00.000Z',
  ) as fc.Arbitrary<Instant>,
});
const who = fc.constantFrom(identity('Ann'), identity('Bob'));
const entry: fc.Arbitrary<FeedItem> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(id, content, who).map(([key, more, person]) => record(key, more, person)),
  },
  { weight: 1, arbitrary: id.map((key) => tombstone(key)) },
);
const page = fc.array(entry, { maxLength: 5 });
const step = fc.tuple(
  fc.oneof(
    { weight: 4, arbitrary: page.map((items) => ({ kind: 'delta' as const, items })) },
    { weight: 1, arbitrary: page.map((items) => ({ kind: 'relist' as const, items })) },
  ),
  // Some commits happen within one millisecond.
  fc.constantFrom(0, 1, 1_000),
);
const worlds = fc.tuple(page, fc.array(step, { minLength: 1, maxLength: 7 }));
const accepted = { share: 1, rows: 0, accepted: true };

/** The views whose past has to equal what they showed then. Of the roster, names are those of now. */
const views: Readonly<Record<string, string>> = {
  investments: '*',
  investment_history: '*',
  changes: '*',
  round_totals: '*',
  daily_raised: '*',
  investor_totals: '*',
  roster: investmentColumns.join(', '),
};

type World = typeof worlds extends fc.Arbitrary<infer Drawn> ? Drawn : never;
type Dump = Readonly<Record<string, readonly string[]>>;
type Rows = (sql: string) => Promise<readonly object[]>;

async function dumpOf(rows: Rows): Promise<Dump> {
  const dump: Record<string, readonly string[]> = {};
  for (const [view, columns] of Object.entries(views))
    dump[view] = (await rows(`SELECT ${columns} FROM ${view}`))
      .map((row) => JSON.stringify(inOrder(row)))
      .sort();
  return dump;
}

/** Integers of either database as text, by column name. */
const inOrder = (row: object) =>
  Object.entries(row)
    .map(([name, value]) => [
      name,
      typeof value === 'bigint' || typeof value === 'number' ? String(value) : value,
    ])
    .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));

/** Runs `work` on a connection of its own that reads as of `at`, or the present state. */
async function reading<Result>(
  store: Store,
  at: Instant | null,
  work: (rows: Rows) => Promise<Result>,
): Promise<Result> {
  const place = placeOf(store);
  if (place.kind === 'sqlite') {
    const reader = openSqlite(place.file, { readonly: true });
    try {
      if (at !== null) readSqliteAsOf(reader.raw, at);
      return await work(async (sql) => reader.raw.prepare(sql).safeIntegers().all() as object[]);
    } finally {
      reader.close();
    }
  }
  const client = await sessionOn(place.url);
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    if (at !== null) await readPostgresAsOf(client, at, 'SELECT 1');
    await client.query('SET TRANSACTION READ ONLY');
    return await work(async (sql) => (await client.query(sql)).rows);
  } finally {
    await client.query('ROLLBACK');
  }
}

const sessions = new Map<string, Promise<pg.Client>>();

/** One session for all readings of a test: a server takes longer to begin a session than to answer these. */
function sessionOn(url: string): Promise<pg.Client> {
  const open = sessions.get(url);
  if (open !== undefined) return open;
  const client = new pg.Client(url);
  const connected = client.connect().then(() => client);
  sessions.set(url, connected);
  onTestFinished(async () => {
    sessions.delete(url);
    await client.end();
  });
  return connected;
}

/** Every column of an investment except those of the version. */
type Content = Record<string, unknown>;
const versionColumns = [
  ...['source', 'id', 'observed_at', 'reason', 'valid_from', 'change_seq'],
  // They are looked up and belong to no version.
  ...['company_name', 'round_name'],
];
const contentOf = (row: object): Content =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([name]) => !versionColumns.includes(name))
      .map(([name, value]) => [
        name,
        value !== null && (typeof value === 'bigint' || name.endsWith('_cents'))
          ? Number(value)
          : value !== null && ['blockers', 'contracts', 'extra'].includes(name)
            ? (JSON.parse(String(value)) as unknown)
            : value,
      ]),
  );

interface FeedRow {
  readonly id: string | null;
  readonly kind: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** Applies the feed to what the first listing showed, and checks that each change begins where the one before ended. */
function replay(first: ReadonlyMap<string, Content>, feed: readonly FeedRow[]): Map<string, Content> {
  const state = new Map(first);
  for (const { id: of, kind, before, after } of feed) {
    if (of === null) continue;
    const [was, is] = [before, after].map((text) => (text === null ? null : (JSON.parse(text) as Content)));
    expect(state.get(of) ?? null).toEqual(kind === 'added' ? null : { ...state.get(of), ...was });
    if (kind === 'removed') state.delete(of);
    else state.set(of, { ...(kind === 'added' ? {} : state.get(of)), ...is });
  }
  return state;
}

async function play(store: Store, name: string, clock: SteppingClock, [first, steps]: World): Promise<void> {
  clock.stepMs = 1_000;
  const source = { ...acme, name: name as SourceName };
  const { list, delta, rows } = await mirrorFixture({ store, source, clock });
  const moments = new Map<Instant, Dump>();
  const remember = async () => {
    const [{ at }] = (await rows('SELECT max(last_committed_at) AS at FROM sources')) as [{ at: Instant }];
    moments.set(at, await reading(store, null, dumpOf));
  };
  await list([first]);
  await remember();
  const firstShown = new Map(
    ((await rows('SELECT * FROM investments WHERE source = ?', name)) as { id: string }[]).map((row) => [
      row.id,
      contentOf(row),
    ]),
  );
  for (const [next, millis] of steps) {
    clock.stepMs = millis;
    if (next.kind === 'delta') await delta(next.items);
    else await list([next.items], 'relist', accepted);
    await remember();
  }
  for (const [at, then] of moments)
    await reading(store, at, async (pastRows) => {
      expect(await dumpOf(pastRows)).toEqual(then);
      const feed = (await pastRows(
        `SELECT * FROM changes WHERE source = '${name}' ORDER BY seq`,
      )) as readonly FeedRow[];
      const shown = (await pastRows(`SELECT * FROM investments WHERE source = '${name}'`)) as {
        id: string;
      }[];
      expect(new Map(shown.map((row) => [row.id, contentOf(row)]))).toEqual(replay(firstShown, feed));
    });
}

test('as-of views equal what the views showed then, and a replay of the change feed up to that time (SQLite)', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const store = await freshStore('sqlite');
      await play(store, 'acme', new SteppingClock(), world);
      if (store.kind === 'sqlite') store.sqlite.close();
    }),
    { numRuns: 6 },
  );
});

test('as-of views equal what the views showed then, and a replay of the change feed up to that time (PostgreSQL)', async () => {
  let run = 0;
  const store = await freshStore('postgres');
  const clock = new SteppingClock();
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      run += 1;
      // Each run has its own source. Earlier ones stay: totals and feeds of all sources are compared.
      await play(store, `world${run}`, clock, world);
    }),
    { numRuns: 4 },
  );
});
