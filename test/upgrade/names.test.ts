import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { collections } from '../../src/dimensions/collections/index.js';
import { parseStats } from '../../src/dimensions/collections/round-stats.js';
import type { DimensionStore } from '../../src/dimensions/ports.js';
import type { SourceName } from '../../src/domain/ids.js';
import { systemClock } from '../../src/runtime/clock.js';
import type { DatabaseLocation } from '../../src/store/database-location.js';
import { PostgresDimensions } from '../../src/store/dialect/postgres/dimensions.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { SqliteDimensions } from '../../src/store/dialect/sqlite/dimensions.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { upgradeSqlite } from '../../src/store/dialect/sqlite/upgrade.js';
import { changesSince } from '../../src/store/reads/changes.js';
import { readMirror } from '../../src/store/reads/read-mirror.js';
import { stats } from '../dimensions/samples.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { tempFolder } from '../store/temp-folder.js';
import { filledBy } from './postgres-crashes.js';
import { unpacked, type Written, writtenVersions } from './written.js';

/* What the views of 0.1.0 and 0.2.0 showed keeps its place, and the new columns follow it. */

interface Store {
  readonly place: DatabaseLocation;
  readonly rows: (sql: string) => Promise<readonly Record<string, unknown>[]>;
  readonly run: (sql: string) => Promise<unknown>;
  readonly migrate: () => Promise<unknown>;
  readonly dimensions: () => DimensionStore;
}

const stamp = { clock: systemClock, version: '9.9.9' };

const databases: Readonly<Record<string, (from: Written) => Promise<Store>>> = {
  SQLite: async ({ version }) => {
    const file = join(tempFolder(), 'mirror.db');
    writeFileSync(file, unpacked(version, 'mirror.db'), { mode: 0o600 });
    const database = openSqlite(file);
    onTestFinished(() => database.close());
    return {
      place: { kind: 'sqlite', file },
      rows: async (sql) => database.raw.prepare(sql).all() as Record<string, unknown>[],
      run: async (sql) => database.raw.exec(sql),
      migrate: async () => upgradeSqlite(database, stamp),
      dimensions: () => new SqliteDimensions(database, systemClock),
    };
  },
  PostgreSQL: async ({ version, migrations }) => {
    const { url } = await freshDatabase();
    await filledBy(url, version, migrations.postgres);
    const database = await openPostgres(url);
    onTestFinished(() => database.close());
    return {
      place: { kind: 'postgres', url, password: null },
      rows: async (sql) => (await database.pool.query(sql)).rows,
      run: (sql) => database.pool.query(sql),
      migrate: () => migratePostgres(database, stamp),
      dimensions: () => new PostgresDimensions(database, systemClock),
    };
  },
};

const widened = {
  changes: { order: 'seq', added: ['company_name', 'round_name'] },
  round_history: { order: 'history_no', added: ['company_name'] },
  round_stats: { order: 'offering_id, status', added: ['extra'] },
} as const;

/** The catalog of 0.2.0; 0.1.0 had none. */
const seed = `
  INSERT INTO company_rows (source_no, id, name, reported_rounds, valid_from, change_seq)
    SELECT DISTINCT source_no, company_id, 'Company ' || company_id, '[]', '2026-01-01T00:00:00.000Z', 1
    FROM investment_rows;
  INSERT INTO offering_rows (source_no, id, company_id, name, valid_from, change_seq)
    SELECT DISTINCT source_no, offering_id, company_id, 'Round ' || offering_id, '2026-01-01T00:00:00.000Z', 1
    FROM investment_rows;
  INSERT INTO offering_history_rows
    (source_no, id, company_id, name, valid_from, change_seq, valid_to, ended_by)
    SELECT source_no, id, company_id, name, '2025-01-01T00:00:00.000Z', 1, valid_from, 'update' FROM offering_rows;
  INSERT INTO round_stat_rows
    (source_no, offering_id, status, company_id, investments, committed_cents, raised_cents, asked_at)
    SELECT source_no, id, 'active', company_id, 1, 2, 3, '2026-01-01T00:00:00.000Z' FROM offering_rows`;

const matrix = writtenVersions.flatMap((from) =>
  Object.keys(databases).map((database) => ({ from, database, version: from.version })),
);

test.each(matrix)(
  'the upgrade of a mirror that $version wrote adds columns at the end of its views and keeps their rows ($database)',
  async ({ database, from }) => {
    const store = (await databases[database]?.(from)) ?? expect.fail();
    const { rows, run, migrate } = store;
    const hasCatalog = from.version !== '0.1.0';
    // Stats of 0.2.0 may be empty in the fixture, so rows are written as that version writes them.
    if (hasCatalog) {
      for (const table of ['company_rows', 'offering_rows', 'offering_history_rows', 'round_stat_rows'])
        await run(`DELETE FROM ${table}`);
      await run(seed);
    }
    const read = async () => {
      const shown: Record<string, readonly Record<string, unknown>[]> = {};
      for (const view of Object.keys(widened) as (keyof typeof widened)[]) {
        if (view !== 'changes' && !hasCatalog) continue;
        const order = view === 'round_history' ? 'source, id, valid_from' : widened[view].order;
        shown[view] = await rows(`SELECT * FROM ${view} ORDER BY ${order}`);
      }
      return shown;
    };
    const feed = () => readMirror(store.place, (db) => changesSince(db, { after: 0 }));
    const before = await read();
    const first = await feed();
    expect(first.map(({ seq }) => seq)).toEqual(before.changes?.map(({ seq }) => Number(seq)));
    for (const { company_name, round_name } of first)
      expect([company_name, round_name]).toEqual([null, null]);
    expect(Object.values(before).every((found) => found.length > 0)).toBe(true);

    await migrate();

    const after = await read();
    for (const [view, { added }] of Object.entries(widened)) {
      const [old, now] = [before[view], after[view]];
      if (old === undefined) continue;
      const columns = Object.keys(old[0] ?? {});
      const names = Object.keys(now?.[0] ?? {});
      expect([names.slice(0, columns.length), names.slice(-added.length)], view).toEqual([columns, added]);
      const kept = now?.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]])));
      expect(kept, view).toEqual(old);
    }
    expect((await feed()).map(({ seq, kind, at }) => [seq, kind, at])).toEqual(
      first.map(({ seq, kind, at }) => [seq, kind, at]),
    );
    if (!hasCatalog) return;
    for (const { company_id, company_name } of after.round_history ?? [])
      expect(company_name).toBe(`Company ${company_id}`);
    for (const { extra } of after.round_stats ?? []) expect(extra).toBeNull();
    const named =
      await rows(`SELECT c.kind, c.company_name, c.round_name, i.company_id, i.offering_id FROM changes c
      JOIN investments i ON i.source = c.source AND i.id = c.id`);
    expect(named.length).toBeGreaterThan(0);
    for (const { company_name, round_name, company_id, offering_id } of named)
      expect([company_name, round_name]).toEqual([`Company ${company_id}`, `Round ${offering_id}`]);

    // Asked again, the platform says more.
    const [{ source, offering_id: round } = expect.fail()] = after.round_stats ?? [];
    const dimensions = store.dimensions();
    const known = await dimensions.begin(source as SourceName, ['round_stats'], [collections.round_stats]);
    const counted = { count: 1, committed_cents: 2, raised_cents: 3, investors: 1 };
    const answer = stats(String(round), { by_status: { active: counted } });
    await dimensions.apply(source as SourceName, known.attempt, [
      {
        kind: 'complete',
        collection: collections.round_stats,
        rows: parseStats(answer, String(round), '2026-12-01T00:00:00.000Z'),
        problem: null,
      },
    ]);
    expect(await rows(`SELECT extra FROM round_stats WHERE source = '${source}'`)).toEqual([
      { extra: '{"by_status":{"investors":1}}' },
    ]);
  },
);
