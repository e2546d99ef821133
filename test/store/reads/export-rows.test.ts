import { describe, expect, test as onSqlite } from 'vitest';
import { defined } from '../../../src/domain/defined.js';
import type { Instant } from '../../../src/domain/instant.js';
import { csv } from '../../../src/exports/csv.js';
import type { RowSource } from '../../../src/exports/ports.js';
import { buildIndexes } from '../../../src/store/dialect/sqlite/indexes.js';
import { openSqlite, type SqliteDatabase } from '../../../src/store/dialect/sqlite/open.js';
import { rosterRows } from '../../../src/store/reads/dashboard/roster.js';
import { type ExportWanted, exportQuery, exportRows } from '../../../src/store/reads/export-rows.js';
import { readMirror } from '../../../src/store/reads/read-mirror.js';
import { withViews } from '../../../src/store/reads/views.js';
import { test } from '../both-databases.js';
import { freshStore, placeOf, type Store } from '../mirror-fixture.js';
import { seedHistory, seedIdentity, seedInvestment, seedRow, seedSource } from '../support/seeds.js';

async function seeded(kind?: Store['kind']): Promise<Store> {
  const store = await freshStore(kind);
  await seedSource(store, 1);
  await seedSource(store, 2);
  const row = await seedInvestment(store, 1, 'inv_a', {
    applied_at: '2026-10-01T00:00:00.000Z',
    extra: '{"phone":"+49 1"}',
  });
  await seedIdentity(store, row, { name: 'Ada', extra: '{"x":1}' });
  await seedInvestment(store, 1, 'inv_b', {
    valid_from: '2026-10-06T00:00:00.000Z',
    change_seq: 2,
    company_id: 'co_2',
  });
  await seedHistory(store, 1, 'inv_b', {
    valid_from: '2026-10-01T00:00:00.000Z',
    change_seq: 1,
    committed_cents: 1,
    valid_to: '2026-10-06T00:00:00.000Z',
    ended_by: 'update',
  });
  await seedInvestment(store, 2, 'inv_a');
  return store;
}

async function seededFile(): Promise<SqliteDatabase> {
  const store = await seeded('sqlite');
  if (store.kind !== 'sqlite') throw new Error('asked for SQLite');
  return store.sqlite;
}

async function objects(source: RowSource, only?: readonly string[]): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for await (const row of source.rows()) {
    const cells = source.columns.map(({ name }, index) => [name, row[index]] as const);
    rows.push(Object.fromEntries(cells.filter(([name]) => only?.includes(name) ?? true)));
  }
  return rows;
}

async function read(store: Store, wanted: Partial<ExportWanted>) {
  return await readMirror(placeOf(store), async (db) => {
    const source: RowSource = exportRows(db, { identity: false, order: 'id', ...wanted });
    return { columns: source.columns, rows: await objects(source) };
  });
}

describe('rows to export', () => {
  test('an export and a download name the companies and rounds of each source as the view does', async () => {
    const store = await seeded();
    const known = { valid_from: '2026-10-01T00:00:00.000Z', change_seq: 1 };
    for (const no of [1, 2]) {
      const company = { ...known, source_no: no, reported_rounds: '[]' };
      await seedRow(store, 'company_rows', { ...company, id: 'co_1', name: `Company of source ${no}` });
      const round = { ...known, source_no: no, id: 'ofr_1', company_id: 'co_1', name: `Round ${no}` };
      await seedRow(store, 'offering_rows', round);
    }
    const named = ['source', 'id', 'company_name', 'round_name'] as const;
    for (const source of [undefined, 'source2'])
      await readMirror(placeOf(store), async (db) => {
        const viewed = db.selectFrom('investments').select(named).orderBy('id').orderBy('source');
        const shown = await (source === undefined ? viewed : viewed.where('source', '=', source)).execute();
        const names = { company_name: 'Company of source 2', round_name: 'Round 2' };
        expect(shown).toContainEqual({ source: 'source2', id: 'inv_a', ...names });
        for (const rows of [
          exportRows(db, { identity: true, order: 'id', ...defined({ source }) }),
          rosterRows(db, defined({ source }), true),
        ])
          expect(await objects(rows, named)).toEqual(shown);
      });
  });

  test('an export is ordered by id and has identity columns only on request', async () => {
    const store = await seeded();
    const bare = await read(store, {});
    expect(bare.rows.map(({ id, source }) => [id, source])).toEqual([
      ['inv_a', 'source1'],
      ['inv_a', 'source2'],
      ['inv_b', 'source1'],
    ]);
    expect(bare.columns.map(({ name }) => name)).not.toContain('name');
    const named = await read(store, { identity: true });
    expect(named.rows[0]).toMatchObject({ name: 'Ada', identity_extra: '{"x":1}' });
    expect(named.rows[1]).toMatchObject({ name: null, email_hidden: null });
  });

  test('an export without identity leaves the values of unknown fields out', async () => {
    const store = await seeded();
    const bare = [
      ...(await read(store, {})).rows,
      ...(await read(store, { asOf: '2026-10-07T00:00:00.000Z' as Instant })).rows,
    ];
    expect(bare.map(({ extra }) => extra)).toEqual(bare.map(() => null));
    const named = await read(store, { identity: true });
    expect(named.rows[0]).toMatchObject({ extra: '{"phone":"+49 1"}' });
  });

  test('an export can be limited to a source or a company and ordered newest first', async () => {
    const store = await seeded();
    expect((await read(store, { source: 'source2' })).rows).toMatchObject([{ source: 'source2' }]);
    expect((await read(store, { company: 'co_2' })).rows).toMatchObject([{ id: 'inv_b' }]);
    const newest = await read(store, { source: 'source1', order: 'newest', identity: true });
    expect(newest.rows.map(({ id }) => id)).toEqual(['inv_b', 'inv_a']);
  });

  test('an export as of a time has the versions of that time with the current identity', async () => {
    const store = await seeded();
    const asOf = '2026-10-05T00:00:00.000Z' as Instant;
    expect(
      (await read(store, { asOf, source: 'source1' })).rows.map((row) => [row.id, row.committed_cents]),
    ).toEqual([
      ['inv_a', 100_000],
      ['inv_b', 1],
    ]);
    const named = await read(store, { asOf, identity: true });
    expect(named.rows[0]).toMatchObject({ id: 'inv_a', name: 'Ada' });
    expect(named.rows).toHaveLength(3);
  });

  test('an export knows the kind of each column, such as number or JSON', async () => {
    const { columns } = await read(await seeded(), { identity: true });
    const kind = (name: string) => columns.find((column) => column.name === name)?.kind;
    expect(
      ['id', 'committed_cents', 'shares', 'blockers', 'email_hidden', 'identity_extra'].map(kind),
    ).toEqual(['text', 'number', 'decimal', 'json', 'flag', 'json']);
  });

  onSqlite('an export is one snapshot, whatever is written while it is read', async () => {
    const mirror = await seededFile();
    for (let n = 0; n < 1_000; n++) await seedInvestment({ kind: 'sqlite', sqlite: mirror }, 1, `inv_z${n}`);
    const reader = openSqlite(mirror.file, { readonly: true });
    const source = exportRows(withViews(reader.kysely), { identity: false, order: 'id' });
    let lines = 0;
    for await (const _ of csv(source, { raw: false })) {
      if (++lines === 10) mirror.raw.exec("DELETE FROM investment_rows WHERE id LIKE 'inv_z%'");
    }
    expect(lines).toBe(1 + 1_003);
    reader.close();
  });

  onSqlite('an export that is abandoned early releases its connection', async () => {
    const reader = openSqlite((await seededFile()).file, { readonly: true });
    const source = exportRows(withViews(reader.kysely), { identity: true, order: 'id' });
    for await (const row of source.rows()) {
      expect(row[1]).toBe('inv_a');
      break;
    }
    expect(() => reader.close()).not.toThrow();
  });

  onSqlite.each([
    { order: 'id', identity: true },
    { order: 'id', identity: false },
    { order: 'newest', identity: true },
    { order: 'newest', identity: true, source: 'source1' },
  ] satisfies ExportWanted[])('an export with %j does not sort all rows', async (wanted) => {
    const mirror = await seededFile();
    await buildIndexes(mirror.raw);
    const reader = openSqlite(mirror.file, { readonly: true });
    const { sql, parameters } = exportQuery(withViews(reader.kysely), wanted).compile();
    const plan = reader.raw
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...parameters)
      .map(({ detail }) => detail);
    expect(plan.join('\n')).not.toMatch(/TEMP B-TREE FOR ORDER BY/);
    reader.close();
  });
});
