import type { Kysely } from 'kysely';
import { expect, test } from 'vitest';
import { instantFromMillis } from '../../../src/domain/instant.js';
import { buildIndexes } from '../../../src/store/dialect/sqlite/indexes.js';
import { changesSince } from '../../../src/store/reads/changes.js';
import { goneByDay, largestChanges } from '../../../src/store/reads/dashboard/company.js';
import { withFoundPeople } from '../../../src/store/reads/dashboard/find-people.js';
import { rosterCount, rosterPage } from '../../../src/store/reads/dashboard/roster.js';
import { readMirror } from '../../../src/store/reads/read-mirror.js';
import type { ReadDatabase } from '../../../src/store/reads/views.js';
import { sqliteMirror } from '../support/databases.js';
import { freshMirror, seedIdentity, seedInvestment, seedSource } from '../support/mirror.js';
import { plansOf } from '../support/plans.js';

async function steps(work: (db: Kysely<ReadDatabase>) => Promise<unknown>): Promise<readonly string[]> {
  const database = freshMirror();
  seedSource(database, 1);
  seedInvestment(database, 1, 'inv_a');
  buildIndexes(database.raw);
  return await readMirror(sqliteMirror(database).place, (db) => plansOf(db, work));
}

test('the largest changes of a company are found by ids: no table or view is read or copied whole', async () => {
  const plan = await steps((db) => largestChanges(db, 'source1', 'co_1', 5));
  expect(plan.filter((step) => /^(MATERIALIZE|SCAN [inh]\b)/.test(step))).toEqual([]);
  expect(plan.filter((step) => /USING.*(investment_rows_id|history_rows_record)/.test(step))).toHaveLength(4);
});

test.each(['valid_to', 'applied_at'] as const)(
  'deleted investments of a company are counted by %s without reading a version that was replaced',
  async (by) => {
    for (const at of [undefined, instantFromMillis(Date.parse('2026-10-13'))]) {
      const plan = await steps((db) => goneByDay(db, 'source1', 'co_1', by, at));
      expect(plan).toContain('SEARCH h USING INDEX history_rows_left (source_no=? AND company_id=?)');
      expect(plan.filter((step) => /^(SCAN|MATERIALIZE)/.test(step))).toEqual([]);
    }
  },
);

test('the change feed reads records and versions by index, and without names neither', async () => {
  const all = await steps((db) => changesSince(db, { after: 7 }));
  expect(all.filter((step) => /^SCAN [chinrsu]\b/.test(step))).toEqual([]);
  expect(all).toContain('SEARCH r USING INDEX investment_rows_id (id=? AND source_no=?)');
  const some = ['seq', 'source', 'id', 'kind', 'fields', 'reason', 'at'] as const;
  const plain = await steps((db) =>
    db.selectFrom('changes').select(some).where('seq', '>', 7).orderBy('seq').limit(1_000).execute(),
  );
  expect(plain.filter((step) => !step.startsWith('BLOOM FILTER'))).toEqual([
    'SEARCH c USING INTEGER PRIMARY KEY (rowid>?)',
    'SEARCH s USING INTEGER PRIMARY KEY (rowid=?)',
  ]);
  const counted = await steps((db) =>
    db
      .selectFrom('changes')
      .select(({ fn }) => fn.countAll().as('n'))
      .execute(),
  );
  expect(counted.filter((step) => / [hinr] /.test(step))).toEqual([]);
});

test('a page of the roster begins where the last one ended, and sorts only rows of the same time', async () => {
  const after = { value: '2026-05-14T12:00:00.000Z', id: 'inv_a', source: 'source1' };
  const page = { order: 'applied_at', descending: true, after, rowsMax: 50, identity: true } as const;
  const all = await steps((db) => rosterPage(db, { ...page, filter: {} }));
  const one = await steps((db) => rosterPage(db, { ...page, filter: { source: 'source1' } }));
  expect(all[0]).toBe('SEARCH r USING INDEX investment_rows_newest (applied_at>? AND applied_at<?)');
  expect(one).toContain(
    'SEARCH r USING INDEX investment_rows_applied (source_no=? AND applied_at>? AND applied_at<?)',
  );
  expect(all).toContain('USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY');
});

test('a search of all companies reads the people once, and no row that it does not find', async () => {
  const wanted = { order: 'applied_at', descending: true, after: null, rowsMax: 50, identity: true } as const;
  const person = 'person of inv_a';
  const looking = await steps((db) => withFoundPeople(db, { person }));
  expect(looking.filter((step) => /\b[ir]\b/.test(step))).toEqual([
    'SCAN i',
    'SEARCH r USING INTEGER PRIMARY KEY (rowid=?)',
  ]);
  const reading = await steps(async (db) => {
    const filter = { person, ids: ['inv_a'] };
    await rosterPage(db, { ...wanted, filter });
    await rosterCount(db, filter, 10_001);
  });
  const rows = reading.filter((step) => /^(SCAN|SEARCH) r\b/.test(step));
  expect(new Set(rows)).toEqual(new Set(['SEARCH r USING INDEX investment_rows_id (id=?)']));
});

test('a search that finds many people compares no name of a company or a round, which no row can have', async () => {
  const many = freshMirror();
  seedSource(many, 1);
  for (let n = 0; n <= 1_000; n += 1)
    seedIdentity(many, seedInvestment(many, 1, `inv_${n}`), { name: `Person of inv_${n}` });
  const { place } = sqliteMirror(many);
  const filter = await readMirror(place, (db) => withFoundPeople(db, { person: 'Person of' }));
  expect(filter).toEqual({ person: 'Person of', onlyPeople: true });
  const plan = await readMirror(place, (db) => plansOf(db, (asked) => rosterCount(asked, filter, 10_001)));
  expect(plan.join('\n')).toMatch(/identity_rows|\bi\b/);
  expect(plan.filter((step) => / (company_rows|offering_rows|c|o)\b/.test(step))).toEqual([]);
});

test('a pasted id is found by an index, for the page of the roster and for its count', async () => {
  const page = { order: 'applied_at', descending: true, after: null, rowsMax: 50, identity: true } as const;
  for (const [id, index] of [
    ['inv_0123456789abcdef', 'investment_rows_id (id>? AND id<?)'],
    ['usr_0123456789abcdef', 'investment_rows_investor (investor_id>? AND investor_id<?)'],
  ] as const) {
    const plan = await steps(async (db) => {
      await rosterPage(db, { ...page, filter: { id } });
      await rosterCount(db, { id }, 10_001);
    });
    const rows = plan.filter((step) => /^(SCAN|SEARCH) r\b/.test(step));
    expect(rows.filter((step) => step.includes(index)).length).toBeGreaterThanOrEqual(2);
    expect(rows.filter((step) => step.startsWith('SCAN'))).toEqual([]);
  }
});

test('a page and the count of one source read no rows of others, in whatever order', async () => {
  const page = { descending: true, after: null, rowsMax: 50, identity: true } as const;
  const source = 'source1';
  const filters = [{}, { status: 'active' }, { company: 'co_1' }, { person: 'nobody' }, { round: 'ofr_1' }];
  for (const more of filters) {
    const filter = { source, ...more };
    const plan = await steps(async (db) => {
      for (const order of ['applied_at', 'observed_at', 'committed_cents', 'raised_cents'] as const)
        await rosterPage(db, { ...page, order, filter });
      await rosterCount(db, filter, 10_001);
    });
    const rows = plan.filter((step) => /^(SCAN|SEARCH) r\b/.test(step) || / r USING/.test(step));
    expect(rows.length).toBeGreaterThanOrEqual(9);
    expect([more, rows.filter((step) => step.startsWith('SCAN'))]).toEqual([more, []]);
  }
});
