import { describe, expect, test } from 'vitest';
import { csv } from '../../../src/exports/csv.js';
import { jsonLines } from '../../../src/exports/json-lines.js';
import type { RowSource } from '../../../src/exports/ports.js';
import { exportRows, tableRows } from '../../../src/store/reads/export-rows.js';
import { readMirror } from '../../../src/store/reads/read-mirror.js';
import { inSnapshot } from '../../../src/store/reads/snapshot.js';
import { databases, type WorkingMirror } from '../support/databases.js';
import { recordDefaults, sourceRow } from '../support/mirror.js';

/** More rows than one cursor fetch. One of them has no time and sorts last when newest first. */
const count = 2_003;

async function seeded(open: () => Promise<WorkingMirror>): Promise<WorkingMirror> {
  const mirror = await open();
  await mirror.insert('sources', sourceRow(1));
  await mirror.rows(
    `INSERT INTO investment_rows (source_no, id, ${Object.keys(recordDefaults).join(', ')})
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     SELECT 1, 'inv_' || i, ${Object.entries(recordDefaults).map(textOf).join(', ')} FROM n`,
  );
  return mirror;
}

function textOf([name, value]: [string, string | number | null]): string {
  if (name === 'applied_at') return `CASE WHEN i = 7 THEN NULL ELSE '2026-10-10T10:00:00.000Z' END`;
  return typeof value === 'string' ? `'${value}'` : String(value ?? 'NULL');
}

describe.each(databases)('reading in $database', ({ open }) => {
  test('an export streams every row once, by id in byte order or newest first', async () => {
    const { place } = await seeded(open);
    const ids = Array.from({ length: count }, (_, index) => `inv_${index + 1}`).sort();
    for (const order of ['id', 'newest'] as const) {
      const found: unknown[] = [];
      await readMirror(place, async (db) => {
        for await (const [, id] of exportRows(db, { identity: true, order }).rows()) found.push(id);
      });
      const last = order === 'newest' ? ['inv_7'] : [];
      expect(found).toEqual([...ids.filter((id) => !last.includes(id)), ...last]);
    }
  });

  test.each(['round_totals', 'daily_raised', 'investor_totals'])(
    'an export of %s writes sums beyond 2^53 with all of their digits',
    async (table) => {
      const mirror = await open();
      await mirror.insert('sources', sourceRow(1));
      for (const no of [1, 2, 3])
        await mirror.insert('investment_rows', {
          ...{ row_no: no, source_no: 1, id: `inv_${no}`, ...recordDefaults },
          ...{ committed_cents: Number.MAX_SAFE_INTEGER, raised_cents: no },
        });
      const read = async (of: (rows: RowSource) => AsyncIterable<string>) =>
        await readMirror(mirror.place, async (db) => {
          let text = '';
          for await (const piece of of(tableRows(db, table, { identity: false }))) text += piece;
          return text;
        });
      expect(await read(jsonLines)).toMatch(/"committed_cents":27021597764222973,.*"raised_cents":6,/);
      expect(await read((rows) => csv(rows, { raw: false }))).toMatch(/,27021597764222973,.*\b6,/);
    },
  );

  test('an export that is abandoned early leaves its connection usable', async () => {
    const { place } = await seeded(open);
    await readMirror(place, async (db) => {
      const rows = () => exportRows(db, { identity: false, order: 'id' }).rows();
      for (let turn = 0; turn < 4; turn += 1) for await (const _ of rows()) break;
      let seen = 0;
      for await (const _ of rows()) seen += 1;
      expect(seen).toBe(count);
    });
  });

  test('a snapshot sees one state throughout, passes text values unchanged and cannot write', async () => {
    const mirror = await open();
    const odd = `o'dd ? $1 "`;
    await mirror.insert('sources', sourceRow(1, { name: odd }));
    await inSnapshot(mirror.place, async (ask) => {
      const named = () => ask<{ no: number }>`SELECT no FROM sources WHERE name = ${odd} AND no < ${3}`;
      expect(await named()).toEqual([{ no: 1 }]);
      await mirror.rows('DELETE FROM sources');
      expect(await named()).toEqual([{ no: 1 }]);
      expect(await ask`SELECT count(*) AS count FROM sources`).toEqual([{ count: 1 }]);
    });
    const after = inSnapshot(mirror.place, (ask) => ask`SELECT count(*) AS count FROM sources`);
    expect(await after).toEqual([{ count: 0 }]);
    await expect(inSnapshot(mirror.place, (ask) => ask`DELETE FROM sources`)).rejects.toThrow();
  });
});
