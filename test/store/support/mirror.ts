import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../src/runtime/clock.js';
import type { DatabaseLocation } from '../../../src/store/database-location.js';
import { migrateSqlite } from '../../../src/store/dialect/sqlite/migrate.js';
import { openSqlite, type SqliteDatabase } from '../../../src/store/dialect/sqlite/open.js';
import { inSnapshot } from '../../../src/store/reads/snapshot.js';
import { readStatus, type StatusDocument, type StatusWanted } from '../../../src/store/reads/status.js';
import { placeMigrated } from '../../support/migrated-file.js';
import { type AtEnd, tempFolder } from '../temp-folder.js';

/** A clock that does not move until `advance` is called. */
export class StandingClock implements Clock {
  constructor(private millis = Date.parse('2026-10-20T12:00:00.000Z')) {}
  now(): number {
    return this.millis;
  }
  monotonic(): number {
    return this.millis;
  }
  async wait(millis: number): Promise<void> {
    this.advance(millis);
  }
  advance(millis: number): void {
    this.millis += millis;
  }
}

/** Returns a migrated mirror in a temporary folder, closed when the test finishes. */
export function freshMirror(
  clock: Clock = new StandingClock(),
  atEnd: AtEnd = onTestFinished,
): SqliteDatabase {
  const file = join(tempFolder(atEnd), 'mirror.db');
  placeMigrated(file, '0.0.0-test');
  const database = openSqlite(file);
  atEnd(() => database.close());
  migrateSqlite(database, { clock, version: '0.0.0-test' });
  return database;
}

/** Returns the status as `rosterd status` reads it, on a separate connection. */
export function statusOf(
  where: string | DatabaseLocation,
  clock: Clock,
  wanted?: StatusWanted,
): Promise<StatusDocument> {
  const place = typeof where === 'string' ? ({ kind: 'sqlite', file: where } as const) : where;
  return inSnapshot(place, (ask) => readStatus(ask, clock, wanted));
}

type Row = Readonly<Record<string, string | number | null>>;

function insert({ raw }: SqliteDatabase, table: string, row: Row): number {
  const columns = Object.keys(row);
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
  return Number(raw.prepare(sql).run(...Object.values(row)).lastInsertRowid);
}

/** A source that follows the feed. */
export const sourceRow = (no: number, set: Row = {}): Row => ({
  no,
  name: `source${no}`,
  fingerprint: 'f',
  state: 'following',
  cursor: 'c_1',
  cursor_saved_at: '2026-10-20T11:59:00.000Z',
  published_through: '2026-10-20T11:59:00.000Z',
  listed_at: '2026-10-01T00:00:00.000Z',
  listed_seq: 1,
  ...set,
});

export const seedSource = (database: SqliteDatabase, no: number, set: Row = {}): number =>
  insert(database, 'sources', sourceRow(no, set));

export const recordDefaults = {
  company_id: 'co_1',
  offering_id: 'ofr_1',
  investor_id: 'usr_1',
  status: 'active',
  group_label: 'PENDING',
  investment_type: 'SAFE',
  offering_type: 'Reg CF',
  applied_at: '2026-10-10T10:00:00.000Z',
  currency: 'usd',
  committed_cents: 100_000,
  investment_size_cents: 100_000,
  in_escrow_cents: 0,
  raised_cents: 100_000,
  shares: null,
  average_share_price: null,
  needs_whitelisting: 0,
  visible: 1,
  converted_to: null,
  converted_from: null,
  investor_deactivated: 0,
  via_entity: 0,
  blockers: '[]',
  contracts: '[]',
  observed_at: '2026-10-10T10:00:01.000Z',
  reason: null,
  extra: null,
} as const;

export function seedInvestment(database: SqliteDatabase, source: number, id: string, set: Row = {}): number {
  return insert(database, 'investment_rows', { source_no: source, id, ...recordDefaults, ...set });
}

export function seedIdentity(database: SqliteDatabase, row: number, set: Row): void {
  insert(database, 'identity_rows', { row_no: row, ...set });
}

export function seedHistory(database: SqliteDatabase, source: number, id: string, set: Row): void {
  insert(database, 'history_rows', { source_no: source, id, ...recordDefaults, ...set });
}

export function seedRow(database: SqliteDatabase, table: string, row: Row): number {
  return insert(database, table, row);
}
