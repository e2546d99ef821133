import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ForgottenLedger } from '../../../../src/daemon/forgotten-ledger.js';
import { openMirror } from '../../../../src/daemon/open-mirror.js';
import { systemClock } from '../../../../src/runtime/clock.js';
import { silentLogger } from '../../../../src/runtime/logger.js';
import { buildIndexes, catchUpIndexes } from '../../../../src/store/dialect/sqlite/indexes.js';
import { migrateSqlite } from '../../../../src/store/dialect/sqlite/migrate.js';
import { openSqlite, type SqliteDatabase } from '../../../../src/store/dialect/sqlite/open.js';
import { shippedMigrations } from '../../../../src/store/migrate.js';
import { seedInvestment, seedSource } from '../../support/mirror.js';
import { tempFolder } from '../../temp-folder.js';

const at = { clock: systemClock, version: '0.1.0' };

/** Indexes as schemas before 0010 built them, under today's names. */
const older = `CREATE INDEX investment_rows_investor ON investment_rows
  (investor_id, currency, source_no, raised_cents, committed_cents, applied_at);
  CREATE INDEX investment_rows_status ON investment_rows (status, source_no, raised_cents, committed_cents)`;

function opened(upTo?: number): SqliteDatabase {
  const database = openSqlite(join(tempFolder(), 'mirror.db'));
  onTestFinished(() => database.close());
  migrateSqlite(database, { ...at, migrations: shippedMigrations('sqlite').slice(0, upTo) });
  return database;
}

const indexesOf = ({ raw }: SqliteDatabase) =>
  raw
    .prepare(
      "SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'investment_rows' ORDER BY name",
    )
    .pluck()
    .all();

test('opening a mirror listed under an older schema gives it the same indexes as one listed today', async () => {
  const today = opened();
  await buildIndexes(today.raw);
  const before = opened(9);
  seedSource(before, 1);
  seedInvestment(before, 1, 'inv_a');
  before.raw.exec(older);
  const ledger = new ForgottenLedger(join(tempFolder(), 'forgotten.jsonl'));
  const parts = { clock: systemClock, logger: silentLogger, identity: 'keep', ledger } as const;
  await (await openMirror({ kind: 'sqlite', file: before.file }, parts)).close();
  expect(indexesOf(before)).toEqual(indexesOf(today));
  expect(indexesOf(today)).toHaveLength(8);
});

test('a mirror in its first listing is not indexed before the listing ends', () => {
  const database = opened();
  seedSource(database, 1, { state: 'listing', listed_at: null, listed_seq: null });
  catchUpIndexes(database.raw);
  expect(indexesOf(database)).toEqual([]);
});
