import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { FeedItem } from '../../src/domain/investment.js';
import type { Cursor } from '../../src/domain/position.js';
import type { Clock } from '../../src/runtime/clock.js';
import { migrateSqlite } from '../../src/store/dialect/sqlite/migrate.js';
import { type MirrorOptions, SqliteMirror } from '../../src/store/dialect/sqlite/mirror.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import type { Applied, Brake, BrakePolicy, Lease, SourceIdentity } from '../../src/sync/ports.js';
import { acme, deltaPage, listingPage } from './samples.js';
import { tempFolder } from './temp-folder.js';

/** Goes a second further at every look, so that each commit has a moment of its own. */
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

export interface Fixture {
  readonly database: SqliteDatabase;
  readonly mirror: SqliteMirror;
  readonly clock: SteppingClock;
  readonly lease: Lease;
  /** Every row of a query, in its order. */
  rows(sql: string, ...values: unknown[]): unknown[];
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
  const database = openSqlite(file);
  onTestFinished(() => database.close());
  migrateSqlite(database, { clock, version: '0.1.0' });
  return database;
}

export async function mirrorFixture(
  options: Partial<MirrorOptions> & { database?: SqliteDatabase; source?: SourceIdentity } = {},
): Promise<Fixture> {
  const clock = (options.clock as SteppingClock | undefined) ?? new SteppingClock();
  const database = options.database ?? migratedDatabase();
  const mirror = new SqliteMirror(database, { leaseMs: 60_000, ...options, clock });
  const { lease } = await mirror.open(options.source ?? acme, 'tester');
  const rows: Fixture['rows'] = (sql, ...values) => database.raw.prepare(sql).all(...values);
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
    database,
    mirror,
    clock,
    lease,
    rows,
    collect,
    list: async (pages, kind, policy = cautious) =>
      mirror.publishListing(lease, await collect(pages, kind), policy),
    delta: (items, next = 'c') =>
      mirror.applyPage(lease, deltaPage(items, next), { kind: 'following', cursor: next as Cursor }),
  };
}
