import { describe, expect, test } from 'vitest';
import type { Instant } from '../../../src/domain/instant.js';
import { csv } from '../../../src/exports/csv.js';
import type { RowSource } from '../../../src/exports/ports.js';
import { buildIndexes } from '../../../src/store/dialect/sqlite/indexes.js';
import { openSqlite, type SqliteDatabase } from '../../../src/store/dialect/sqlite/open.js';
import { type ExportWanted, exportQuery, exportRows } from '../../../src/store/reads/export-rows.js';
import { withViews } from '../../../src/store/reads/views.js';
import { freshMirror, seedHistory, seedIdentity, seedInvestment, seedSource } from '../support/mirror.js';

function seeded(): SqliteDatabase {
  const mirror = freshMirror();
  seedSource(mirror, 1);
  seedSource(mirror, 2);
  const row = seedInvestment(mirror, 1, 'inv_a', { applied_at: '2026-10-01T00:00:00.000Z' });
  seedIdentity(mirror, row, { name: 'Ada', extra: '{"x":1}' });
  seedInvestment(mirror, 1, 'inv_b', {
    valid_from: '2026-10-06T00:00:00.000Z',
    change_seq: 2,
    company_id: 'co_2',
  });
  seedHistory(mirror, 1, 'inv_b', {
    ...{ valid_from: '2026-10-01T00:00:00.000Z', change_seq: 1, committed_cents: 1 },
    ...{ valid_to: '2026-10-06T00:00:00.000Z', ended_by: 'update' },
  });
  seedInvestment(mirror, 2, 'inv_a');
  return mirror;
}

async function read(mirror: SqliteDatabase, wanted: Partial<ExportWanted>) {
  const source: RowSource = exportRows(withViews(mirror.kysely), { identity: false, order: 'id', ...wanted });
  const rows: Record<string, unknown>[] = [];
  for await (const row of source.rows())
    rows.push(Object.fromEntries(source.columns.map(({ name }, index) => [name, row[index]])));
  return { columns: source.columns, rows };
}

describe('rows to export', () => {
  test('come by id, without a column for identity unless it is asked for', async () => {
    const mirror = seeded();
    const bare = await read(mirror, {});
    expect(bare.rows.map(({ id, source }) => [id, source])).toEqual([
      ['inv_a', 'source1'],
      ['inv_a', 'source2'],
      ['inv_b', 'source1'],
    ]);
    expect(bare.columns.map(({ name }) => name)).not.toContain('name');
    const named = await read(mirror, { identity: true });
    expect(named.rows[0]).toMatchObject({ name: 'Ada', identity_extra: '{"x":1}' });
    expect(named.rows[1]).toMatchObject({ name: null, email_hidden: null });
  });

  test('are narrowed to a source or a company, and put newest first', async () => {
    const mirror = seeded();
    expect((await read(mirror, { source: 'source2' })).rows).toMatchObject([{ source: 'source2' }]);
    expect((await read(mirror, { company: 'co_2' })).rows).toMatchObject([{ id: 'inv_b' }]);
    const newest = await read(mirror, { source: 'source1', order: 'newest', identity: true });
    expect(newest.rows.map(({ id }) => id)).toEqual(['inv_b', 'inv_a']);
  });

  test('as of a time are the versions of then, with the identity of now', async () => {
    const mirror = seeded();
    const asOf = '2026-10-05T00:00:00.000Z' as Instant;
    expect(
      (await read(mirror, { asOf, source: 'source1' })).rows.map((row) => [row.id, row.committed_cents]),
    ).toEqual([
      ['inv_a', 100_000],
      ['inv_b', 1],
    ]);
    const named = await read(mirror, { asOf, identity: true });
    expect(named.rows[0]).toMatchObject({ id: 'inv_a', name: 'Ada' });
    expect(named.rows).toHaveLength(3);
  });

  test('know which columns are numbers and which are JSON', async () => {
    const { columns } = await read(seeded(), { identity: true });
    const kind = (name: string) => columns.find((column) => column.name === name)?.kind;
    expect(
      ['id', 'committed_cents', 'shares', 'blockers', 'email_hidden', 'identity_extra'].map(kind),
    ).toEqual(['text', 'number', 'decimal', 'json', 'flag', 'json']);
  });

  test('are one snapshot, whatever is written while they are read', async () => {
    const mirror = seeded();
    for (let n = 0; n < 1_000; n++) seedInvestment(mirror, 1, `inv_z${n}`);
    const reader = openSqlite(mirror.file, { readonly: true });
    const source = exportRows(withViews(reader.kysely), { identity: false, order: 'id' });
    let lines = 0;
    for await (const _ of csv(source, { raw: false })) {
      if (++lines === 10) mirror.raw.exec("DELETE FROM investment_rows WHERE id LIKE 'inv_z%'");
    }
    expect(lines).toBe(1 + 1_003);
    reader.close();
  });

  test('reading that is left early frees the connection', async () => {
    const reader = openSqlite(seeded().file, { readonly: true });
    const source = exportRows(withViews(reader.kysely), { identity: true, order: 'id' });
    for await (const row of source.rows()) {
      expect(row[1]).toBe('inv_a');
      break;
    }
    expect(() => reader.close()).not.toThrow();
  });

  test.each([
    { order: 'id', identity: true },
    { order: 'id', identity: false },
    { order: 'newest', identity: true },
    { order: 'newest', identity: true, source: 'source1' },
  ] satisfies ExportWanted[])('%j needs no sorting of the whole', async (wanted) => {
    const mirror = seeded();
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
