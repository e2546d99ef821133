import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { onTestFinished, vi } from 'vitest';
import { inSteps } from '../../src/daemon/in-batches.js';
import type { Instant } from '../../src/domain/instant.js';
import type { FeedItem } from '../../src/domain/investment.js';
import type { Cursor } from '../../src/domain/position.js';
import type { Clock } from '../../src/runtime/clock.js';
import type { DatabaseLocation } from '../../src/store/database-location.js';
import { PostgresErasures } from '../../src/store/dialect/postgres/erasures.js';
import { PostgresMirror } from '../../src/store/dialect/postgres/mirror.js';
import type { PostgresDatabase } from '../../src/store/dialect/postgres/open.js';
import {
  forgetValues as forgetOnPostgres,
  purgeHistory as purgePostgres,
} from '../../src/store/dialect/postgres/purge.js';
import { SqliteErasures } from '../../src/store/dialect/sqlite/erasures.js';
import { migrateSqlite } from '../../src/store/dialect/sqlite/migrate.js';
import { SqliteMirror } from '../../src/store/dialect/sqlite/mirror.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import type { LargeListings } from '../../src/store/dialect/sqlite/prepare-publication.js';
import {
  forgetValues as forgetOnSqlite,
  purgeHistory as purgeSqlite,
} from '../../src/store/dialect/sqlite/purge.js';
import type { Erasures } from '../../src/store/erasures.js';
import type { MirrorOptions } from '../../src/store/mirror-options.js';
import { type ReadDatabase, withViews } from '../../src/store/reads/views.js';
import type { Applied, Brake, BrakePolicy, Lease, Mirror, SourceIdentity } from '../../src/sync/ports.js';
import { placeMigrated } from '../support/migrated-file.js';
import { readApart } from '../support/read-apart.js';
import { dialect } from './both-databases.js';
import { postgresStore } from './postgres-store.js';
import { acme, deltaPage, listingPage } from './samples.js';
import { tempFolder } from './temp-folder.js';

/** A clock that advances by a second at every reading, so that each commit has its own timestamp. */
export class SteppingClock implements Clock {
  stepMs = 1_000;
  constructor(public millis = Date.parse('2026-05-01T00:00:00.000Z')) {}
  now(): number {
    this.millis += this.stepMs;
    return this.millis;
  }
  monotonic(): number {
    return this.millis;
  }
  async wait(): Promise<void> {}
}

export const cautious: BrakePolicy = { share: 0.2, rows: 50, accepted: false };

/** The database of a mirror, of either kind. */
export type Store =
  | { readonly kind: 'sqlite'; readonly sqlite: SqliteDatabase }
  | { readonly kind: 'postgres'; readonly postgres: PostgresDatabase };

export interface Fixture {
  readonly store: Store;
  /** For tests of features that only SQLite has. */
  readonly database: SqliteDatabase;
  readonly mirror: Mirror;
  readonly erasures: Erasures;
  readonly clock: SteppingClock;
  readonly lease: Lease;
  /** Returns the rows of a query. `values` replace its question marks. */
  rows(sql: string, ...values: readonly unknown[]): Promise<unknown[]>;
  purgeHistory(before: Instant): Promise<number>;
  list(
    pages: readonly (readonly FeedItem[])[],
    kind?: 'first' | 'relist',
    policy?: BrakePolicy,
  ): Promise<{
    readonly applied: Applied;
    readonly brake: Brake | null;
  }>;
  collect(pages: readonly (readonly FeedItem[])[], kind?: 'first' | 'relist'): Promise<Cursor>;
  delta(items: readonly FeedItem[], next?: string): Promise<Applied>;
}

export function migratedDatabase(
  file = join(tempFolder(), 'mirror.db'),
  clock: Clock = new SteppingClock(),
): SqliteDatabase {
  placeMigrated(file, '0.1.0');
  const database = openSqlite(file);
  onTestFinished(() => database.close());
  migrateSqlite(database, { clock, version: '0.1.0' });
  return database;
}

/** Returns a migrated store, by default on the database of the running test. */
export async function freshStore(kind = dialect()): Promise<Store> {
  return kind === 'sqlite' ? { kind, sqlite: migratedDatabase() } : { kind, postgres: await postgresStore() };
}

export async function mirrorFixture(
  options: Partial<MirrorOptions> & {
    store?: Store;
    database?: SqliteDatabase;
    source?: SourceIdentity;
    large?: LargeListings;
  } = {},
): Promise<Fixture> {
  const { store: given, database, source = acme, large, ...more } = options;
  const clock = (options.clock as SteppingClock | undefined) ?? new SteppingClock();
  const store =
    given ?? (database === undefined ? await freshStore() : { kind: 'sqlite' as const, sqlite: database });
  const mirror = mirrorOn(store, { leaseMs: 60_000, ...more, clock }, large);
  const { lease } = await mirror.open(source, 'tester');
  const collect: Fixture['collect'] = async (pages, kind = 'first') => {
    await mirror.beginListing(lease, { kind, fingerprint: acme.fingerprint, restarts: 0, notBefore: null });
    let next = '';
    for (const [index, items] of pages.entries()) {
      next = `p${index + 1}`;
      await mirror.addListingPage(lease, listingPage(items, next, index + 1 < pages.length));
    }
    return next as Cursor;
  };
  return {
    store,
    // A test that uses it on PostgreSQL fails immediately.
    database: store.kind === 'sqlite' ? store.sqlite : (undefined as never),
    mirror,
    erasures: erasuresOn(store, clock),
    clock,
    lease,
    rows: (sql, ...values) => rowsOf(store, sql, ...values),
    purgeHistory: async (before) => {
      if (store.kind === 'sqlite') {
        await inSteps((after) => forgetOnSqlite(store.sqlite, before, after));
        return purgeSqlite(store.sqlite, before);
      }
      await inSteps((after) => forgetOnPostgres(store.postgres, before, after));
      return await purgePostgres(store.postgres, before);
    },
    collect,
    list: async (pages, kind, policy = cautious) =>
      mirror.publishListing(lease, await collect(pages, kind), policy),
    delta: (items, next = 'c') =>
      mirror.applyPage(lease, deltaPage(items, next), { kind: 'following', cursor: next as Cursor }),
  };
}

export function mirrorOn(store: Store, options: MirrorOptions, large?: LargeListings): Mirror {
  return store.kind === 'sqlite'
    ? new SqliteMirror(store.sqlite, options, large)
    : new PostgresMirror(store.postgres, options);
}

export function erasuresOn(store: Store, clock: Clock): Erasures {
  return store.kind === 'sqlite'
    ? new SqliteErasures(store.sqlite, clock)
    : new PatientErasures(store.postgres, clock);
}

/** Returns the location of the store, complete enough to open it. */
export const placeOf = (store: Store): DatabaseLocation =>
  store.kind === 'sqlite'
    ? { kind: 'sqlite', file: store.sqlite.file }
    : { kind: 'postgres', url: String(store.postgres.pool.options.connectionString), password: null };

/** Returns the query interface of rosterd's own readers, on the writing connection. */
export const readingOf = (store: Store): Kysely<ReadDatabase> =>
  withViews(store.kind === 'sqlite' ? store.sqlite.kysely : store.postgres.kysely);

/** Opens a separate read-only connection and returns a function that queries it. */
export async function aReader(store: Store): Promise<(sql: string) => Promise<unknown[]>> {
  if (store.kind === 'sqlite') {
    const reader = openSqlite(store.sqlite.file, { readonly: true });
    onTestFinished(() => reader.close());
    return async (sql) => reader.raw.prepare(sql).all();
  }
  const client = await store.postgres.pool.connect();
  onTestFinished(() => client.release());
  return async (sql) => (await client.query(sql)).rows;
}

export async function rowsOf(store: Store, sql: string, ...values: readonly unknown[]): Promise<unknown[]> {
  if (store.kind === 'sqlite') {
    const statement = store.sqlite.raw.prepare(sql);
    if (statement.reader) return statement.all(...values);
    statement.run(...values);
    return [];
  }
  let mark = 0;
  const numbered = sql.replaceAll('?', () => `$${++mark}`);
  return (await store.postgres.pool.query(numbered, [...values])).rows;
}

/**
 * Returns every stored byte that can come from a row: of SQLite its files, of PostgreSQL the files of the mirror's tables and
 * indexes, and of the planner's samples. The rest of the catalogs describes the schema.
 */
export async function bytesOf(store: Store): Promise<string> {
  if (store.kind === 'sqlite')
    return ['', '-wal', '-shm']
      .map((suffix) => store.sqlite.file + suffix)
      .map((file) => (existsSync(file) ? readApart(file).toString('latin1') : ''))
      .join('');
  const { pool } = store.postgres;
  await pool.query('CHECKPOINT');
  const { rows } = await pool.query<{ bytes: Buffer | null }>(
    `SELECT pg_read_binary_file(pg_relation_filepath(oid), 0, 1 << 29, true) AS bytes FROM pg_class
     WHERE relkind IN ('r', 'i', 't') AND relfilenode <> 0 AND (oid >= 16384 OR oid IN (${planner}))`,
  );
  return rows.map(({ bytes }) => bytes?.toString('latin1') ?? '').join('');
}

/** The catalogs with values of columns, with their indexes and what did not fit into a row. */
const planner = `
  SELECT unnest(ARRAY[c.oid, c.reltoastrelid, i.indexrelid]) FROM pg_class c
  JOIN pg_index i ON i.indrelid IN (c.oid, c.reltoastrelid)
  WHERE c.oid IN ('pg_statistic'::regclass, 'pg_statistic_ext_data'::regclass)`;

/** Retries a blocked scrub, because transactions of other tests on the same server block it while they last. */
class PatientErasures extends PostgresErasures {
  override async scrub(): ReturnType<PostgresErasures['scrub']> {
    return await vi.waitUntil(
      async () => {
        const scrubbed = await super.scrub();
        return scrubbed.kind !== 'blocked' && scrubbed;
      },
      { timeout: 120_000 },
    );
  }
}
