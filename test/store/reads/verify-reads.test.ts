import type { Kysely } from 'kysely';
import { describe, expect, test } from 'vitest';
import { buildIndexes } from '../../../src/store/dialect/sqlite/indexes.js';
import { readMirror } from '../../../src/store/reads/read-mirror.js';
import {
  countQuarantined,
  idsAt,
  idsAwaitingDeletion,
  isUnchangedSince,
  storedIds,
  storedOfferings,
  storedTallies,
  storedVersions,
} from '../../../src/store/reads/verify-reads.js';
import type { ReadDatabase } from '../../../src/store/reads/views.js';
import { databases, sqliteMirror, type WorkingMirror } from '../support/databases.js';
import { freshMirror, recordDefaults, sourceRow } from '../support/mirror.js';
import { plansOf, wholeReads } from '../support/plans.js';

/** Two sources with the rows of each between those of the other. */
async function seed(mirror: WorkingMirror): Promise<void> {
  for (const no of [1, 2]) await mirror.insert('sources', sourceRow(no, { name: `source${no}` }));
  for (let n = 0; n < 12; n += 1) {
    const source_no = 1 + (n % 2);
    const row = { ...recordDefaults, source_no, id: `inv_${n % 4}${n}`, offering_id: `ofr_${n % 3}` };
    await mirror.insert('investment_rows', {
      row_no: n + 1,
      ...row,
      applied_at: n === 0 ? null : `2026-01-${30 - n}`,
    });
  }
  await mirror.insert('awaiting_deletion_rows', {
    row_no: 3,
    source_no: 1,
    generation: 1,
    missing_since: '2026-01-01T00:00:00.000Z',
  });
  await mirror.insert('change_rows', {
    seq: 1,
    source_no: 1,
    id: 'inv_00',
    kind: 'added',
    at: '2026-01-01T00:00:00.000Z',
  });
  await mirror.insert('change_rows', {
    seq: 2,
    source_no: 2,
    id: 'inv_11',
    kind: 'added',
    at: '2026-01-01T00:00:00.000Z',
  });
}

async function everyId(db: Kysely<ReadDatabase>, source: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const id of storedIds(db, source)) ids.push(id);
  return ids;
}

describe.each(databases)('reads of verify in $database', ({ open }) => {
  test('one source is read alone: its ids, positions, offerings, tallies and awaiting rows', async () => {
    const mirror = await open();
    await seed(mirror);
    await readMirror(mirror.place, async (db) => {
      const own = ['inv_00', 'inv_04', 'inv_08', 'inv_210', 'inv_22', 'inv_26'];
      expect([...(await everyId(db, 'source1'))].sort()).toEqual(own);
      const placed = await idsAt(db, 'source1', [0, 1, 2, 3, 4, 5, 6]);
      expect([...placed].sort()).toEqual(own);
      expect(await idsAt(db, 'source1', [4, 2])).toEqual([placed[2], placed[4]]);
      expect(await storedOfferings(db, 'source1')).toEqual(['ofr_0', 'ofr_1', 'ofr_2']);
      expect(await idsAwaitingDeletion(db, 'source1')).toEqual(new Set(['inv_22']));
      expect(await idsAwaitingDeletion(db, 'source2')).toEqual(new Set());
      const counts = async (offering: string) =>
        Object.values(await storedTallies(db, 'source1', offering)).map(({ count }) => count);
      // The row that awaits deletion is one of the third offering.
      expect(await Promise.all(['ofr_0', 'ofr_2', 'ofr_9'].map(counts))).toEqual([[2], [1], []]);
      expect([await isUnchangedSince(db, 'source1', 1), await isUnchangedSince(db, 'source2', 1)]).toEqual([
        true,
        false,
      ]);
    });
  });

  test('records beyond a full quarantine count as many as their one row says', async () => {
    const mirror = await open();
    await mirror.insert('sources', sourceRow(1, { name: 'acme' }));
    const seen_at = '2026-01-01T00:00:00.000Z';
    for (const [times, resolved_at] of [
      [1, null],
      [31, null],
      [500, seen_at],
    ] as const)
      await mirror.insert('quarantine_rows', {
        source_no: 1,
        problem: 'id is missing',
        body: '{}',
        seen_at,
        times,
        resolved_at,
      });
    const count = (source: string) => readMirror(mirror.place, (db) => countQuarantined(db, source));
    expect([await count('acme'), await count('other')]).toEqual([32, 0]);
  });

  test('sums of a round beyond 2^53 cents are exact, and numbers where they can be', async () => {
    const mirror = await open();
    await mirror.insert('sources', sourceRow(1, { name: 'acme' }));
    const most = Number.MAX_SAFE_INTEGER;
    for (let n = 0; n < 6; n += 1) {
      const [status, committed_cents] = n < 2 ? ['back', -most] : ['in', most - n];
      const row = { ...recordDefaults, source_no: 1, id: `inv_${n}`, offering_id: 'ofr_1', status };
      await mirror.insert('investment_rows', { ...row, row_no: n + 1, committed_cents, raised_cents: null });
    }
    expect(await readMirror(mirror.place, (db) => storedTallies(db, 'acme', 'ofr_1'))).toEqual({
      back: { count: 2, committed_cents: -2n * BigInt(most), raised_cents: 0 },
      in: { count: 4, committed_cents: 4n * BigInt(most) - 14n, raised_cents: 0 },
    });
  });
});

test('no read of verify on SQLite reads the rows, versions or changes of other sources', async () => {
  const database = freshMirror();
  const mirror = sqliteMirror(database);
  await seed(mirror);
  buildIndexes(database.raw);
  const steps = await readMirror(mirror.place, (db) =>
    plansOf(db, async (noted) => {
      await everyId(noted, 'source1');
      await idsAt(noted, 'source1', [0, 3]);
      await storedOfferings(noted, 'source1');
      await storedTallies(noted, 'source1', 'ofr_1');
      await idsAwaitingDeletion(noted, 'source1');
      await storedVersions(noted, 'source1', ['inv_00']);
      await isUnchangedSince(noted, 'source1', 1);
    }),
  );
  expect(steps.length).toBeGreaterThan(10);
  // Changes after a number are read by it, whatever source they belong to: there are few.
  expect(wholeReads(steps, /\b(investment_rows|history_rows|change_rows|r|h)\b/)).toEqual([
    'SEARCH change_rows USING INTEGER PRIMARY KEY (rowid>?)',
  ]);
});
