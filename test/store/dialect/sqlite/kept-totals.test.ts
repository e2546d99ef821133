import { join } from 'node:path';
import type Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { SourceName } from '../../../../src/domain/ids.js';
import { systemClock } from '../../../../src/runtime/clock.js';
import { migrateSqlite } from '../../../../src/store/dialect/sqlite/migrate.js';
import { openSqlite, type SqliteDatabase } from '../../../../src/store/dialect/sqlite/open.js';
import { shippedMigrations } from '../../../../src/store/migrate.js';
import fc from '../../../support/property.js';
import { mirrorFixture } from '../../mirror-fixture.js';
import { record } from '../../samples.js';
import { freshMirror, recordDefaults, seedInvestment, seedSource } from '../../support/mirror.js';
import { tempFolder } from '../../temp-folder.js';

const reckoned = {
  round_totals: `
    SELECT source, company_id, offering_id, status, currency, count(*) AS investments,
           coalesce(sum(committed_cents), 0) AS committed_cents, coalesce(sum(in_escrow_cents), 0) AS in_escrow_cents,
           coalesce(sum(raised_cents), 0) AS raised_cents, NULL AS exact_cents, NULL AS company_name, NULL AS round_name
    FROM investments GROUP BY source, company_id, offering_id, status, currency`,
  daily_raised: `
    SELECT source, company_id, substr(applied_at, 1, 10) AS day, currency, count(*) AS investments,
           coalesce(sum(committed_cents), 0) AS committed_cents, coalesce(sum(raised_cents), 0) AS raised_cents,
           NULL AS exact_cents, NULL AS company_name
    FROM investments GROUP BY source, company_id, day, currency`,
  investor_totals: `
    SELECT source, investor_id, currency, count(*) AS investments,
           coalesce(sum(committed_cents), 0) AS committed_cents, coalesce(sum(raised_cents), 0) AS raised_cents,
           min(applied_at) AS first_applied_at, max(applied_at) AS last_applied_at, NULL AS exact_cents
    FROM investments WHERE investor_id IS NOT NULL GROUP BY source, investor_id, currency`,
};

/** Returns a function that compares the stored totals with the totals computed from the rows. */
function comparing({ raw }: SqliteDatabase): () => void {
  const views = Object.keys(reckoned).map((view) => `SELECT * FROM ${view}`);
  const [kept, added] = [views, Object.values(reckoned)].map((all) =>
    all.map((sql) => raw.prepare(sql).safeIntegers().raw()),
  ) as [Sqlite.Statement[], Sqlite.Statement[]];
  const rows = (statements: readonly Sqlite.Statement[]) =>
    statements.flatMap((one) =>
      one
        .all()
        .map((row) => (row as unknown[]).map(String).join(' '))
        .sort(),
    );
  return () => expect(rows(kept)).toEqual(rows(added));
}

const expectEqual = (mirror: SqliteDatabase): void => comparing(mirror)();

const id = fc.constantFrom('inv_1', 'inv_2', 'inv_3', 'inv_4');
const cents = fc.constantFrom(null, 0, 5, -7, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER);
const content = fc.record({
  company_id: fc.constantFrom(null, '', 'co_1'),
  offering_id: fc.constantFrom(null, 'ofr_1', 'ofr_2'),
  investor_id: fc.constantFrom(null, 'usr_1', 'usr_2'),
  status: fc.constantFrom('active', 'executed'),
  applied_at: fc.constantFrom(null, '2026-10-10T23:59:59.999Z', '2026-10-11T00:00:00.000Z'),
  currency: fc.constantFrom(null, 'usd', 'eur'),
  committed_cents: cents,
  in_escrow_cents: cents,
  raised_cents: cents,
});
const amounts = fc.record({ committed_cents: cents, in_escrow_cents: cents, raised_cents: cents });
const source = fc.constantFrom(1, 2);
const write = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), source, id, content }),
  fc.record({ kind: fc.constant('remove' as const), source, id }),
  fc.record({ kind: fc.constant('touch' as const), source, id }),
  // Updates that keep the group of a row, or move it to an existing group: rare among random records.
  fc.record({ kind: fc.constant('set' as const), source, id, columns: amounts }),
  fc.record({
    kind: fc.constant('set' as const),
    source,
    id,
    columns: fc.constant({ company_id: null, offering_id: 'ofr_1', applied_at: null, currency: null }),
  }),
  fc.record({
    kind: fc.constant('set' as const),
    source,
    id,
    columns: fc.record({ investor_id: fc.constantFrom(null, 'usr_1') }),
  }),
  fc.record({ kind: fc.constant('list' as const), source }),
);

test('after any sequence of writes the stored totals equal the sums of the visible rows', () => {
  fc.assert(
    fc.property(fc.array(write, { maxLength: 40, size: 'max' }), (writes) => {
      const mirror = freshMirror();
      const { raw } = mirror;
      raw.exec('CREATE UNIQUE INDEX investment_rows_id ON investment_rows (id, source_no)');
      seedSource(mirror, 1, { listed_at: null, listed_seq: null });
      seedSource(mirror, 2);
      const columns = Object.keys({ ...recordDefaults });
      const put = raw.prepare(
        `INSERT INTO investment_rows (source_no, id, ${columns.join(', ')})
         VALUES (?, ?, ${columns.map(() => '?').join(', ')})
         ON CONFLICT (id, source_no) DO UPDATE SET ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}`,
      );
      const compare = comparing(mirror);
      for (const one of writes) {
        if (one.kind === 'put')
          put.run(one.source, one.id, ...Object.values({ ...recordDefaults, ...one.content }));
        else if (one.kind === 'set')
          raw
            .prepare(
              `UPDATE investment_rows SET ${Object.keys(one.columns).map((name) => `${name} = ?`)}
               WHERE source_no = ? AND id = ?`,
            )
            .run(...Object.values(one.columns), one.source, one.id);
        else if (one.kind === 'list')
          raw
            .prepare('UPDATE sources SET listed_at = ? WHERE no = ?')
            .run('2026-10-20T12:00:00.000Z', one.source);
        else
          raw
            .prepare(
              one.kind === 'remove'
                ? 'DELETE FROM investment_rows WHERE source_no = ? AND id = ?'
                : "UPDATE investment_rows SET reason = 'seen' WHERE source_no = ? AND id = ?",
            )
            .run(one.source, one.id);
        compare();
      }
      mirror.close();
    }),
    { numRuns: 100 },
  );
});

test('rows of a first listing enter the totals in the commit that publishes them', () => {
  const mirror = freshMirror();
  seedSource(mirror, 1, { state: 'listing', listed_at: null, listed_seq: null });
  for (const name of ['a', 'b', 'c']) seedInvestment(mirror, 1, `inv_${name}`);
  expect(mirror.raw.prepare('SELECT count(*) FROM round_rows').pluck().get()).toBe(0);
  mirror.raw.exec("UPDATE sources SET listed_at = '2026-10-20T12:00:00.000Z'");
  expect(mirror.raw.prepare('SELECT investments FROM round_totals').all()).toEqual([{ investments: 3 }]);
  expectEqual(mirror);
});

test('deleting a source deletes its totals', () => {
  const mirror = freshMirror();
  seedSource(mirror, 1);
  seedInvestment(mirror, 1, 'inv_a');
  mirror.raw.exec('DELETE FROM sources');
  const left = `SELECT (SELECT count(*) FROM round_rows) + (SELECT count(*) FROM day_rows)
    + (SELECT count(*) FROM investor_rows)`;
  expect(mirror.raw.prepare(left).pluck().get()).toBe(0);
});

test('an investor without rows has no totals row', () => {
  const mirror = freshMirror();
  seedSource(mirror, 1);
  for (const name of ['a', 'b']) seedInvestment(mirror, 1, `inv_${name}`, { investor_id: 'usr_gone' });
  const those = mirror.raw.prepare('SELECT investments FROM investor_rows').pluck();
  expect(those.all()).toEqual([2]);
  mirror.raw.exec("DELETE FROM investment_rows WHERE id = 'inv_a'");
  expect(those.all()).toEqual([1]);
  mirror.raw.exec('UPDATE investment_rows SET investor_id = NULL');
  expect(those.all()).toEqual([]);
});

test('a sum beyond 64 bits fails neither a listing nor a delta', () => {
  const mirror = freshMirror();
  seedSource(mirror, 1, { listed_at: null, listed_seq: null });
  const raised_cents = Number.MAX_SAFE_INTEGER;
  mirror.raw.transaction(() => {
    for (let no = 0; no < 1_030; no += 1) seedInvestment(mirror, 1, `inv_${no}`, { raised_cents });
  })();
  mirror.raw.exec("UPDATE sources SET listed_at = '2026-10-20T12:00:00.000Z'");
  seedInvestment(mirror, 1, 'inv_more', { raised_cents });
  const totals = mirror.raw.prepare<[], { raised_cents: number; exact_cents: string }>(
    'SELECT * FROM round_totals',
  );
  const { exact_cents = '{}' } = totals.get() ?? {};
  expect(JSON.parse(exact_cents)).toMatchObject({ raised_cents: String(1_031n * BigInt(raised_cents)) });
});

test.each([8, 10])('upgrading a mirror listed before schema %i computes its totals', (number) => {
  const database = openSqlite(join(tempFolder(), 'mirror.db'));
  onTestFinished(() => database.close());
  const all = shippedMigrations('sqlite');
  const at = { clock: systemClock, version: '0.1.0' };
  migrateSqlite(database, { ...at, migrations: all.slice(0, number - 1) });
  seedSource(database, 1);
  seedSource(database, 2, { listed_at: null, listed_seq: null });
  seedInvestment(database, 1, 'inv_a');
  seedInvestment(database, 1, 'inv_b', { offering_id: null, raised_cents: null });
  seedInvestment(database, 2, 'inv_a');
  migrateSqlite(database, at);
  expect(database.raw.prepare('SELECT sum(investments) FROM round_totals').pluck().get()).toBe(2);
  expect(database.raw.prepare('SELECT sum(investments) FROM investor_totals').pluck().get()).toBe(2);
  expect(database.raw.prepare('SELECT listed_at FROM sources ORDER BY no').pluck().all()).toEqual([
    '2026-10-01T00:00:00.000Z',
    null,
  ]);
  expectEqual(database);
});

test('a full re-listing repairs corrupted totals and does not rewrite correct ones', async () => {
  const { database, list } = await mirrorFixture();
  const page = [record('inv_1'), record('inv_2', { status: 'canceled' })];
  await list([page]);
  expectEqual(database);
  const rowids = () => database.raw.prepare('SELECT rowid, * FROM round_rows').raw().all();
  const before = rowids();
  await list([page], 'relist');
  expect(rowids()).toEqual(before);
  for (const spoil of [
    'UPDATE day_rows SET investments = 7',
    'DELETE FROM round_rows',
    'DELETE FROM day_rows',
    'INSERT INTO round_rows SELECT * FROM round_rows',
    'UPDATE investor_rows SET raised_cents = raised_cents + 1',
    'DELETE FROM investor_rows',
    "INSERT INTO investor_rows VALUES (1, 'usr_nobody', 'usd', 1, 0, 0)",
  ]) {
    database.raw.exec(spoil);
    await list([page], 'relist');
    expectEqual(database);
  }
});

test('the triggers for added rows are dropped during the very first listing only and restored unchanged', async () => {
  const { database, list, collect, delta, mirror, lease } = await mirrorFixture();
  const names = "name IN ('totals_added', 'investors_added') ORDER BY name";
  const triggers = () => database.raw.prepare(`SELECT sql FROM sqlite_schema WHERE ${names}`).pluck().all();
  const shipped = triggers();
  expect(shipped).toHaveLength(2);
  const final = await collect([[record('inv_1')], [record('inv_2')]]);
  expect(triggers()).toEqual([]);
  await mirror.publishListing(lease, final, { share: 1, rows: 0, accepted: true });
  expect(triggers()).toEqual(shipped);
  await delta([record('inv_3')]);
  expectEqual(database);
  await list([[record('inv_1'), record('inv_4')]], 'relist', { share: 1, rows: 9, accepted: true });
  expect(triggers()).toEqual(shipped);
  expectEqual(database);
  const other = await mirror.open({ name: 'other' as SourceName, fingerprint: 'f' }, 'holder');
  await mirror.beginListing(other.lease, { kind: 'first', fingerprint: 'f', restarts: 0, notBefore: null });
  expect(triggers()).toEqual(shipped);
});

test('a re-listing that finds wrong totals restores a missing trigger', async () => {
  const { database, list, delta } = await mirrorFixture();
  await list([[record('inv_1')]]);
  for (const [at, name] of ['totals_added', 'investors_added'].entries()) {
    database.raw.exec(`DROP TRIGGER ${name}`);
    await delta([record(`inv_missed_${at}`)], `missed_${at}`);
    await list([[record('inv_1'), record(`inv_missed_${at}`)]], 'relist', {
      share: 1,
      rows: 9,
      accepted: true,
    });
    await delta([record(`inv_counted_${at}`)], `counted_${at}`);
    expectEqual(database);
  }
});
