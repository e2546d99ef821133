import type { KyselyPlugin } from 'kysely';
import { beforeEach, describe, expect, test } from 'vitest';
import type { RosterWanted } from '../../../src/console/ports/roster.js';
import { presentState } from '../../../src/domain/as-of.js';
import type { Instant } from '../../../src/domain/instant.js';
import { readActivity } from '../../../src/store/reads/dashboard/activity.js';
import {
  companiesShown,
  goneByDay,
  largestChanges,
  roundsShown,
  totalsByDay,
  totalsByRound,
  totalsByStatus,
} from '../../../src/store/reads/dashboard/company.js';
import { withFoundPeople } from '../../../src/store/reads/dashboard/find-people.js';
import { latestChanges } from '../../../src/store/reads/dashboard/latest-changes.js';
import { companyFigures, readOverview } from '../../../src/store/reads/dashboard/overview.js';
import { readPast } from '../../../src/store/reads/dashboard/past.js';
import { readPastCompanies, readPastCompany } from '../../../src/store/reads/dashboard/past-company.js';
import { readRecord } from '../../../src/store/reads/dashboard/record.js';
import {
  rosterChoices,
  rosterCount,
  rosterPage,
  rosterRows,
} from '../../../src/store/reads/dashboard/roster.js';
import { readMirror } from '../../../src/store/reads/read-mirror.js';
import { databases, type WorkingMirror } from '../support/databases.js';
import { recordDefaults, sourceRow } from '../support/mirror.js';

const wanted: RosterWanted = {
  filter: {},
  order: 'applied_at',
  descending: true,
  after: null,
  rowsMax: 10,
  identity: false,
};

describe.each(databases)('dashboard queries on $database', ({ open }) => {
  let mirror: WorkingMirror;
  beforeEach(async () => {
    mirror = await open();
    await mirror.insert('sources', sourceRow(1));
    await held(1, 'inv_a', {
      applied_at: '2026-10-10T10:00:00.000Z',
      committed_cents: 300,
      raised_cents: 300,
    });
    await held(2, 'inv_b', { applied_at: null, status: 'reserved', committed_cents: null, raised_cents: 0 });
    const changed = { valid_from: '2026-10-12T00:00:00.000Z', change_seq: 2, raised_cents: 700 };
    await held(3, 'inv_c', { applied_at: '2026-10-11T10:00:00.000Z', offering_id: 'ofr_2', ...changed });
    const until = { valid_from: '2026-10-01T00:00:00.000Z', change_seq: 1, raised_cents: 100 };
    await superseded('inv_c', { ...until, valid_to: changed.valid_from, ended_by: 'update' });
    await superseded('inv_d', { ...until, valid_to: '2026-10-13T00:00:00.000Z', ended_by: 'tombstone' });
    const change = { source_no: 1, fields: '["raised_cents"]', reason: null };
    await mirror.insert('change_rows', {
      ...change,
      seq: 1,
      kind: 'snapshot',
      id: null,
      at: until.valid_from,
    });
    await mirror.insert('change_rows', {
      ...change,
      seq: 2,
      kind: 'changed',
      id: 'inv_c',
      at: changed.valid_from,
    });
    await mirror.insert('change_rows', {
      ...change,
      seq: 3,
      kind: 'removed',
      id: 'inv_d',
      at: '2026-10-13T00:00:00.000Z',
    });
  });

  async function held(no: number, id: string, set: Readonly<Record<string, string | number | null>>) {
    await mirror.insert('investment_rows', { row_no: no, source_no: 1, id, ...recordDefaults, ...set });
    await mirror.insert('identity_rows', { row_no: no, name: `Person of ${id}`, email: `${id}@example.com` });
  }
  const superseded = (id: string, set: Readonly<Record<string, string | number | null>>) =>
    mirror.insert('history_rows', { source_no: 1, id, ...recordDefaults, ...set });
  const read = <Result>(work: Parameters<typeof readMirror<Result>>[1]) => readMirror(mirror.place, work);
  const page = (change: Partial<RosterWanted>) => read((db) => rosterPage(db, { ...wanted, ...change }));

  test('the overview and the roster as of a past time have the rows of then, and names of now', async () => {
    const then = '2026-10-11T00:00:00.000Z' as Instant;
    await read(async (db) => {
      expect(await readPast(db, then, 10)).toEqual({
        younger: [],
        changes: [
          {
            seq: 1,
            at: '2026-10-01T00:00:00.000Z',
            source: 'source1',
            kind: 'snapshot',
            id: null,
            fields: ['raised_cents'],
            before: null,
            after: null,
            company_id: null,
            company_name: null,
            offering_id: null,
            round_name: null,
            currency: null,
            title: null,
            names: {},
          },
        ],
        totals: [
          {
            source: 'source1',
            company_id: 'co_1',
            company_name: null,
            status: 'active',
            currency: 'usd',
            investments: 3,
            committed_cents: 200_300,
            raised_cents: 500,
          },
          {
            source: 'source1',
            company_id: 'co_1',
            company_name: null,
            status: 'reserved',
            currency: 'usd',
            investments: 1,
            committed_cents: 0,
            raised_cents: 0,
          },
        ],
      });
      const rows = await rosterPage(db, { ...wanted, asOf: then, order: 'raised_cents', identity: true });
      expect(rows.map(({ id, raised_cents, name }) => [id, raised_cents, name])).toEqual([
        ['inv_a', 300, 'Person of inv_a'],
        ['inv_c', 100, 'Person of inv_c'],
        ['inv_d', 100, null],
        ['inv_b', 0, 'Person of inv_b'],
      ]);
      expect(await rosterCount(db, { person: 'person of inv_c' }, 10, then)).toBe(1);
      expect((await rosterChoices(db, then)).map(({ offering_id, status }) => [offering_id, status])).toEqual(
        [
          ['ofr_1', 'active'],
          ['ofr_1', 'reserved'],
        ],
      );
      const file: unknown[] = [];
      for await (const [, id] of rosterRows(db, { status: 'active' }, false, then).rows()) file.push(id);
      expect(file).toEqual(['inv_a', 'inv_c', 'inv_d']);
      await expect(readPast(db, '2026-09-01T00:00:00.000Z' as Instant, 10)).rejects.toMatchObject({
        code: 'usage',
      });
    });
  });

  const namedRound = async (source: number, id: string) => {
    const version = { source_no: source, valid_from: '2026-10-01T00:00:00.000Z', change_seq: 1 };
    await mirror.insert('company_rows', {
      ...version,
      id: 'co_1',
      name: 'Copper Labs',
      reported_rounds: '[]',
    });
    await mirror.insert('offering_rows', { ...version, id, company_id: 'co_1', name: 'Reg CF SAFE 2025' });
  };

  test('the overview compares the seven days up to today with the seven before, for each company and currency', async () => {
    await held(4, 'inv_e', { applied_at: '2026-10-04T23:59:59.000Z', committed_cents: 50, raised_cents: 40 });
    await held(5, 'inv_f', { applied_at: '2026-10-05T00:00:00.000Z', currency: 'eur', raised_cents: 9 });
    await held(6, 'inv_g', { applied_at: '2026-09-27T23:59:59.000Z' });
    const seen = await read((db) => readOverview(db, Date.parse('2026-10-11T23:00:00.000Z'), 10));
    expect(seen.weeks).toEqual({
      from: '2026-10-05',
      to: '2026-10-11',
      beforeFrom: '2026-09-28',
      beforeTo: '2026-10-04',
    });
    const nothing = { investments: 0, committed_cents: 0, raised_cents: 0 };
    expect(seen.all.map(({ week, weekBefore, ...sums }) => sums)).toEqual([
      { currency: 'usd', investments: 5, committed_cents: 200_350, raised_cents: 101_040 },
      { currency: 'eur', investments: 1, committed_cents: 100_000, raised_cents: 9 },
    ]);
    expect(seen.companies).toMatchObject([
      {
        source: 'source1',
        company_id: 'co_1',
        currency: 'eur',
        investments: 1,
        investors: 1,
        week: { investments: 1, committed_cents: 100_000, raised_cents: 9 },
        weekBefore: nothing,
      },
      {
        currency: 'usd',
        investments: 5,
        raised_cents: 101_040,
        investors: 1,
        week: { investments: 2, committed_cents: 100_300, raised_cents: 1_000 },
        weekBefore: { investments: 1, committed_cents: 50, raised_cents: 40 },
      },
    ]);
  });

  test('a source that is being listed for the first time, and a later day, are in no page, sum or choice', async () => {
    await namedRound(1, 'ofr_1');
    for (const [no, more] of [
      [2, {}],
      [3, { listed_at: null }],
    ] as const) {
      await mirror.insert('sources', sourceRow(no, more));
      const own = { row_no: 10 + no, source_no: no, id: `inv_${no}`, applied_at: '2026-10-10T10:00:00.000Z' };
      await mirror.insert('investment_rows', { ...recordDefaults, ...own });
      const version = { source_no: no, valid_from: '2026-10-01T00:00:00.000Z', change_seq: 1, name: 'Other' };
      await mirror.insert('company_rows', { ...version, id: 'co_1', reported_rounds: '[]' });
      await mirror.insert('offering_rows', { ...version, id: 'ofr_1', company_id: 'co_1' });
    }
    const { all, companies_count } = await read((db) =>
      readOverview(db, Date.parse('2026-10-10T23:00:00.000Z'), 1),
    );
    expect([companies_count, all.map(({ investments, week }) => [investments, week.investments])]).toEqual([
      2,
      [[4, 2]],
    ]);
    expect(await read(async (db) => (await rosterChoices(db)).map(({ source }) => source))).toEqual([
      ...['source1', 'source1', 'source1', 'source2'],
    ]);
    const pageOf = async (source: string) =>
      (await page({ filter: { source } })).map((row) => [row.id, row.company_name, row.round_name]);
    expect(await pageOf('source1')).toEqual([
      ['inv_c', 'Copper Labs', null],
      ['inv_a', 'Copper Labs', 'Reg CF SAFE 2025'],
      ['inv_b', 'Copper Labs', 'Reg CF SAFE 2025'],
    ]);
    expect(await pageOf('source2')).toEqual([['inv_2', 'Other', 'Other']]);
    expect(await pageOf('source3')).toEqual([]);
  });

  test('the overview counts an investor once in each company of a source', async () => {
    await held(4, 'inv_e', { investor_id: 'usr_2' });
    await held(5, 'inv_f', { company_id: 'co_2', investor_id: 'usr_2' });
    await held(6, 'inv_g', { company_id: 'co_2', investor_id: null });
    const { companies } = await read((db) => readOverview(db, Date.parse('2026-10-11T23:00:00.000Z'), 10));
    expect(companies.map(({ company_id, investors }) => [company_id, investors])).toEqual([
      ['co_1', 2],
      ['co_2', 1],
    ]);
  });

  test('the overview reads as many statements and rows for 300 companies as for 30', async () => {
    const seen: { readonly statements: number; readonly rows: number; readonly companies: number }[] = [];
    for (const [from, to] of [
      [10, 40],
      [40, 310],
    ] as const) {
      for (let no = from; no < to; no += 1) {
        await mirror.insert('sources', sourceRow(no));
        const own = { row_no: 1_000 + no, source_no: no, id: `inv_${no}`, company_id: `co_${no}` };
        const applied = { applied_at: '2026-10-11T10:00:00.000Z' };
        await mirror.insert('investment_rows', { ...recordDefaults, ...own, ...applied });
      }
      const largest = { row_no: 2_000 + to, source_no: to - 1, id: `inv_${to}`, company_id: `co_${to - 1}` };
      await mirror.insert('investment_rows', { ...recordDefaults, ...largest });
      let statements = 0;
      let rows = 0;
      const counting: KyselyPlugin = {
        transformQuery: ({ node }) => node,
        transformResult: async ({ result }) => {
          statements += 1;
          rows += result.rows.length;
          return result;
        },
      };
      const now = Date.parse('2026-10-11T23:00:00.000Z');
      const overview = await read((db) => readOverview(db.withPlugin(counting), now, 10));
      expect(overview.companies).toHaveLength(24);
      expect(overview.companies.map(({ company_id }) => company_id)).toContain(`co_${to - 1}`);
      expect(overview.all).toMatchObject([
        { week: { investments: overview.companies_count + 2 + seen.length } },
      ]);
      seen.push({ statements, rows, companies: overview.companies_count });
    }
    expect(seen.map(({ companies }) => companies)).toEqual([31, 301]);
    expect(seen[1]?.statements).toBe(seen[0]?.statements);
    expect(seen[1]?.rows).toBe(seen[0]?.rows);
    expect(seen[1]?.statements).toBeLessThanOrEqual(15);
  });

  test('the latest changes have the names of their companies and rounds, also when the investment is gone', async () => {
    await namedRound(1, 'ofr_1');
    const change = { source_no: 1, fields: '[]', reason: null, at: '2026-10-14T00:00:00.000Z' };
    const round = { company_id: 'co_1', name: 'Closed round', extra: { phone: '+49 1' } };
    await mirror.insert('change_rows', {
      ...change,
      seq: 4,
      kind: 'removed',
      id: 'ofr_9',
      about: 'round',
      old_values: JSON.stringify(round),
    });
    await mirror.insert('change_rows', { ...change, seq: 5, kind: 'added', id: 'co_1', about: 'company' });
    const changes = await read((db) => latestChanges(db, 5));
    expect(
      changes.map(({ seq, kind, company_name, round_name }) => [seq, kind, company_name, round_name]),
    ).toEqual([
      [5, 'company_added', 'Copper Labs', null],
      [4, 'round_removed', 'Copper Labs', 'Closed round'],
      [3, 'removed', 'Copper Labs', 'Reg CF SAFE 2025'],
      [2, 'changed', 'Copper Labs', null],
      [1, 'snapshot', null, null],
    ]);
    expect(changes[3]).toMatchObject({ before: { raised_cents: 100 }, after: { raised_cents: 700 } });
    // Unknown fields may be personal.
    expect(JSON.stringify(changes)).not.toContain('+49');
    const then = await read((db) => latestChanges(db, 5, '2026-10-12T00:00:00.000Z' as Instant));
    expect(then.map(({ seq }) => seq)).toEqual([2, 1]);
  });

  test('the dashboard reads totals of a company by status, round and day', async () => {
    const [companies, byStatus, byRound, byDay] = await read(async (db) => [
      await companiesShown(db),
      await totalsByStatus(db, 'source1', 'co_1'),
      await totalsByRound(db, 'source1', 'co_1'),
      await totalsByDay(db, 'source1', 'co_1'),
    ]);
    expect(companies).toMatchObject([
      { source: 'source1', company_id: 'co_1', investments: 3, raised_cents: 1_000 },
    ]);
    expect(byStatus).toMatchObject([
      { status: 'active', investments: 2, raised_cents: 1_000 },
      { status: 'reserved', investments: 1, raised_cents: 0 },
    ]);
    expect(byRound).toMatchObject([
      { offering_id: 'ofr_1', raised_cents: 300, in_escrow_cents: 0 },
      { offering_id: 'ofr_2', raised_cents: 700 },
    ]);
    expect(byDay).toMatchObject([
      { day: '2026-10-10', raised_cents: 300 },
      { day: '2026-10-11', raised_cents: 700 },
    ]);
    expect(await read((db) => totalsByStatus(db, 'source1', null))).toEqual([]);
  });

  const companyAt = (at: string) =>
    read((db) =>
      readPastCompany(db, 'source1', 'co_1', at as Instant, Date.parse('2026-10-13T12:00:00Z'), 5),
    );

  test('the page of a company as of the present has the figures of the present page', async () => {
    const past = await companyAt(presentState);
    const present = await read(async (db) => ({
      byStatus: await totalsByStatus(db, 'source1', 'co_1'),
      byRound: await totalsByRound(db, 'source1', 'co_1'),
      byDay: await totalsByDay(db, 'source1', 'co_1'),
      leftByDay: await goneByDay(db, 'source1', 'co_1', 'valid_to'),
      goneByDay: await goneByDay(db, 'source1', 'co_1', 'applied_at'),
      largest: await largestChanges(db, 'source1', 'co_1', 5),
      figures: await companyFigures(db, past.weeks, [{ source: 'source1', company_id: 'co_1' }]),
      rounds: await roundsShown(db, 'source1', 'co_1'),
    }));
    const sorted = (rows: readonly object[]) =>
      rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();
    for (const [name, rows] of Object.entries(present))
      expect([name, sorted(past[name as keyof typeof present])]).toEqual([name, sorted(rows)]);
    expect(past.figures).toMatchObject([{ investments: 3, raised_cents: 1_000, week: { investments: 2 } }]);
    const [one] = await read(async (db) => (await readPastCompanies(db, presentState)).totals);
    expect(one).toMatchObject({ source: 'source1', company_id: 'co_1', investments: 3, raised_cents: 1_000 });
  });

  test('the page of a company as of a past time has the investments of then, and what had been withdrawn by then', async () => {
    await superseded('inv_e', {
      ...{ valid_from: '2026-10-12T13:00:00.000Z', change_seq: 2, raised_cents: 100 },
      ...{ valid_to: '2026-10-12T18:00:00.000Z', ended_by: 'tombstone' },
    });
    const then = await companyAt('2026-10-11T23:59:59.999Z');
    expect(then).toMatchObject({
      byStatus: expect.arrayContaining([
        expect.objectContaining({ status: 'active', investments: 3, raised_cents: 500 }),
        expect.objectContaining({ status: 'reserved', investments: 1, raised_cents: 0 }),
      ]),
      ...{ leftByDay: [], goneByDay: [], largest: [] },
      figures: [{ investments: 4, raised_cents: 500, week: { investments: expect.any(Number) } }],
      weeks: { from: '2026-10-05', to: '2026-10-11', beforeFrom: '2026-09-28', beforeTo: '2026-10-04' },
    });
    const changed = await companyAt('2026-10-12T12:00:00.000Z');
    expect(changed.byStatus.find(({ status }) => status === 'active')).toMatchObject({
      ...{ investments: 3, raised_cents: 1_100 },
    });
    expect(changed.largest).toMatchObject([{ id: 'inv_c', before_cents: 100, after_cents: 700 }]);
    expect((await companyAt('2026-10-13T00:00:00.000Z')).leftByDay).toEqual([
      { day: '2026-10-12', currency: 'usd', investments: 1 },
      { day: '2026-10-13', currency: 'usd', investments: 1 },
    ]);
    await expect(companyAt('2026-09-30T00:00:00.000Z')).rejects.toMatchObject({ code: 'usage' });
  });

  test('withdrawn investments count on their day of withdrawal or of application; changed ones do not count', async () => {
    const gone = { currency: 'usd', investments: 1 };
    expect(await read((db) => goneByDay(db, 'source1', 'co_1', 'valid_to'))).toEqual([
      { ...gone, day: '2026-10-13' },
    ]);
    expect(await read((db) => goneByDay(db, 'source1', 'co_1', 'applied_at'))).toEqual([
      { ...gone, day: '2026-10-10' },
    ]);
  });

  test('the largest changes include the amounts before and after', async () => {
    expect(await read((db) => largestChanges(db, 'source1', 'co_1', 5))).toMatchObject([
      { id: 'inv_c', kind: 'changed', before_cents: 100, after_cents: 700, currency: 'usd' },
      { id: 'inv_d', kind: 'removed', before_cents: 100, after_cents: 0 },
    ]);
  });

  test('roster pages follow each other without gaps in either direction, with null values last', async () => {
    await read(async (db) => {
      for (const descending of [true, false]) {
        const seen: string[] = [];
        for (let after: RosterWanted['after'] = null; seen.length < 5; ) {
          const rows = await rosterPage(db, { ...wanted, descending, after, rowsMax: 1 });
          const last = rows[0];
          if (last === undefined) break;
          seen.push(last.id);
          after = { value: last.applied_at, id: last.id, source: last.source };
        }
        expect(seen).toEqual(descending ? ['inv_c', 'inv_a', 'inv_b'] : ['inv_a', 'inv_c', 'inv_b']);
      }
    });
  });

  test('roster filters narrow the rows, and identity is read only on request', async () => {
    await read(async (db) => {
      const rows = (filter: RosterWanted['filter'], identity = false) =>
        rosterPage(db, { ...wanted, filter, identity });
      const ids = async (filter: RosterWanted['filter']) => (await rows(filter)).map(({ id }) => id);
      expect(await ids({ status: 'reserved' })).toEqual(['inv_b']);
      expect(await ids({ id: 'ofr_2' })).toEqual(['inv_c']);
      const one = { id: 'inv_a', source: 'source1', company: 'co_1', round: 'ofr_1' };
      expect(await ids(one)).toEqual(['inv_a']);
      expect(await ids({ person: 'PERSON OF INV_B' })).toEqual(['inv_b']);
      expect(await ids({ person: '%' })).toEqual([]);
      expect((await rows({ id: 'inv_a' }))[0]).toMatchObject({ name: null, email: null });
      expect((await rows({ id: 'inv_a' }, true))[0]).toMatchObject({ name: 'Person of inv_a' });
      expect(await rosterCount(db, {}, 2)).toBe(2);
      expect(await rosterCount(db, { status: 'active' }, 10)).toBe(2);
      expect(await rosterChoices(db)).toHaveLength(3);
    });
  });

  // The Turkish capital I is not found by its small form ı: to ASCII it is the capital of i.
  test.each([
    ['Élise Ångström', ['élise', 'Élise', 'ÉLISE ÅNGSTRÖM', 'ångström'], ['elise', 'ENGSTRÖM']],
    ['Иван Жуков', ['Иван', 'иван жуков', 'ЖУКОВ'], ['Жукова']],
    ['ÖZGÜR IŞIK', ['özgür', 'Özgür', 'işik'], ['ışık']],
    ['İpek Groß', ['İpek', 'groß', 'İPEK GROß'], ['gross']],
    ['王小明', ['小明'], ['小红']],
    ['Jose\u0301 Ångström', ['jos\u00e9', 'JOS\u00c9', 'e\u0301 \u00e5ng'], ['josé a']],
    ['Jos\u00e9 de la Pe\u00f1a', ['jose\u0301', 'JOSE\u0301 DE LA PEN\u0303A'], ['josé de la pena']],
  ])('a search for a person ignores case beyond ASCII: %s', async (name, found, missed) => {
    await mirror.insert('investment_rows', { row_no: 9, source_no: 1, id: 'inv_z', ...recordDefaults });
    await mirror.insert('identity_rows', { row_no: 9, name });
    await read(async (db) => {
      const finds = async (person: string) => {
        const rows = (filter: RosterWanted['filter']) => rosterPage(db, { ...wanted, filter });
        const shown = await rows(await withFoundPeople(db, { person }));
        expect(await rows({ person, source: 'source1' })).toEqual(shown);
        return shown.length > 0;
      };
      for (const text of found) expect([text, await finds(text)]).toEqual([text, true]);
      for (const text of missed) expect([text, await finds(text)]).toEqual([text, false]);
    });
  });

  test('a search of all companies names the few people it finds, and none when a company or round has the text', async () => {
    const one = { person: 'PERSON OF INV_B' };
    await read(async (db) => {
      const found = (filter: RosterWanted['filter']) => withFoundPeople(db, filter);
      expect(await found(one)).toEqual({ ...one, ids: ['inv_b'], onlyPeople: true });
      expect(await found({ person: '%' })).toEqual({ person: '%', ids: [], onlyPeople: true });
      expect(await found({ ...one, company: 'co_1' })).toEqual({ ...one, company: 'co_1' });
      expect(await found({ status: 'active' })).toEqual({ status: 'active' });
      const none = { person: 'person', ids: [] };
      expect(await rosterPage(db, { ...wanted, filter: none })).toEqual([]);
      expect(await rosterCount(db, none, 10)).toBe(0);
    });
    await mirror.insert('company_rows', {
      ...{ source_no: 1, id: 'co_9', name: 'Person to Person', reported_rounds: '[]' },
      ...{ valid_from: '2026-10-12T00:00:00.000Z', change_seq: 1 },
    });
    await read(async (db) => {
      expect(await withFoundPeople(db, one)).toEqual({ ...one, ids: ['inv_b'], onlyPeople: true });
      expect(await withFoundPeople(db, { person: 'person' })).toEqual({ person: 'person' });
    });
  });

  test('a roster download streams every row that matches the filter', async () => {
    const rows = await read(async (db) => {
      const file = rosterRows(db, { status: 'active' }, true);
      const found: unknown[] = [];
      for await (const row of file.rows())
        found.push([row[1], row[file.columns.findIndex(({ name }) => name === 'name')]]);
      return found;
    });
    expect(rows).toEqual([
      ['inv_a', 'Person of inv_a'],
      ['inv_c', 'Person of inv_c'],
    ]);
  });

  test('a roster download leaves unknown fields out while names are masked', async () => {
    await held(5, 'inv_x', { status: 'reserved', extra: '{"phone":"+49 1"}' });
    const extras = await read(async (db) => {
      const found: unknown[] = [];
      for (const identity of [false, true]) {
        const file = rosterRows(db, { id: 'inv_x' }, identity);
        for await (const row of file.rows())
          found.push(row[file.columns.findIndex(({ name }) => name === 'extra')]);
      }
      return found;
    });
    expect(extras).toEqual([null, '{"phone":"+49 1"}']);
  });

  test('a record page has its versions and changes, also for a withdrawn record', async () => {
    const record = await read((db) => readRecord(db, 'source1', 'inv_c', true));
    expect(record?.versions.map(({ raised_cents, valid_to }) => [raised_cents, valid_to])).toEqual([
      [700, null],
      [100, '2026-10-12T00:00:00.000Z'],
    ]);
    expect(record).toMatchObject({
      changes: [{ seq: 2, fields: ['raised_cents'] }],
      person: { name: 'Person of inv_c' },
    });
    expect(await read((db) => readRecord(db, 'source1', 'inv_c', false))).toMatchObject({ person: null });
    expect(await read((db) => readRecord(db, 'source1', 'inv_d', true))).toMatchObject({
      versions: [{ ended_by: 'tombstone' }],
    });
    expect(await read((db) => readRecord(db, 'source1', 'inv_never', true))).toBeNull();
  });

  test('an address with a NUL character finds nothing', async () => {
    await read(async (db) => {
      expect(await readRecord(db, 'acme\0', 'inv_a\0', false)).toBeNull();
      expect(await totalsByStatus(db, 'acme', 'co_1\0')).toEqual([]);
      const rows = rosterRows(db, { source: 'acme\0' }, false).rows();
      expect((await rows[Symbol.asyncIterator]().next()).done).toBe(true);
    });
  });

  test('recent activity comes newest first and without bodies', async () => {
    await mirror.insert('erasures', {
      source_no: 1,
      id: 'inv_d',
      cause: 'tombstone',
      invisible_at: '2026-10-13T00:00:00.000Z',
    });
    await mirror.insert('quarantine_rows', {
      source_no: 1,
      id: 'inv_x',
      problem: 'no status',
      body: '{}',
      seen_at: '2026-10-13T00:00:00.000Z',
    });
    await namedRound(1, 'ofr_1');
    const delivery = { installation: 'inst_1', event: 'investment.changed', source: 'source1', test: 0 };
    const received = { received_at: '2026-10-13T00:00:00.000Z', next_at: null, state: 'worked', attempts: 1 };
    for (const [no, investment] of ['inv_a', 'inv_d', 'inv_never'].entries())
      await mirror.insert('webhook_inbox', {
        ...delivery,
        ...received,
        event_id: `evt_${no}`,
        inbox_no: no + 1,
        investment,
        body: '{}',
      });
    const { erasures, quarantine, ticks, deliveries } = await read((db) => readActivity(db, 5));
    expect(deliveries.map(({ investment, round_name }) => [investment, round_name])).toEqual([
      ['inv_never', null],
      ['inv_d', 'Reg CF SAFE 2025'],
      ['inv_a', 'Reg CF SAFE 2025'],
    ]);
    expect(deliveries[0]).not.toHaveProperty('body');
    expect(erasures).toMatchObject([{ source: 'source1', id: 'inv_d', scrubbed_at: null }]);
    expect(quarantine).toEqual([expect.not.objectContaining({ body: expect.anything() })]);
    expect(ticks).toEqual([]);
  });
});
