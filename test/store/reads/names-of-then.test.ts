import { beforeEach, describe, expect, test } from 'vitest';
import type { RosterWanted } from '../../../src/console/ports/roster.js';
import { presentState } from '../../../src/domain/as-of.js';
import type { Instant } from '../../../src/domain/instant.js';
import { readHistory } from '../../../src/reading/history.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { latestChanges } from '../../../src/store/reads/dashboard/latest-changes.js';
import { readPast } from '../../../src/store/reads/dashboard/past.js';
import { rosterChoices, rosterPage, rosterRows } from '../../../src/store/reads/dashboard/roster.js';
import { exportRows } from '../../../src/store/reads/export-rows.js';
import { runQuery } from '../../../src/store/reads/query.js';
import { readMirror } from '../../../src/store/reads/read-mirror.js';
import type { Row, WorkingMirror } from '../support/databases.js';
import { recordDefaults, sourceRow } from '../support/mirror.js';
import { reusingDatabases } from '../support/reusing-databases.js';

const day = (number: number) => `2026-10-${String(number).padStart(2, '0')}T00:00:00.000Z` as Instant;

/** The names of each of these times: before the mirror knew them, before they changed, and after. */
const times: readonly (readonly [Instant, string | null, string | null])[] = [
  [day(1), null, null],
  [day(5), 'Old Ltd', 'Seed'],
  [day(9), 'New Ltd', 'Series A'],
  [presentState, 'New Ltd', 'Series A'],
];

describe.each(reusingDatabases)('names as of a past time in $database', ({ open }) => {
  let mirror: WorkingMirror;
  /** A company and a round that changed their names, and a company and a round that are gone by now. */
  beforeEach(async () => {
    mirror = await open();
    await mirror.insert('sources', sourceRow(1, { name: 'acme', listed_at: day(1), listed_seq: 1 }));
    const first = { source_no: 1, valid_from: day(1), change_seq: 1 };
    const record = { ...recordDefaults, ...first };
    await mirror.insert('investment_rows', { ...record, row_no: 1, id: 'inv_stays' });
    await mirror.insert('investment_rows', { ...record, row_no: 2, id: 'inv_changes', valid_from: day(6) });
    const superseded = { ...record, id: 'inv_changes', valid_to: day(6), ended_by: 'update' };
    await mirror.insert('history_rows', superseded);
    await mirror.insert('history_rows', { ...superseded, id: 'inv_leaves', ended_by: 'tombstone' });
    await mirror.insert('history_rows', {
      ...{ ...superseded, id: 'inv_elsewhere', valid_to: presentState, ended_by: 'tombstone' },
      ...{ company_id: 'co_2', offering_id: 'ofr_2' },
    });
    const known = { source_no: 1, change_seq: 2, valid_from: day(2) };
    const company = { ...known, id: 'co_1', name: 'Old Ltd', reported_rounds: '[]' };
    const round = { ...known, id: 'ofr_1', company_id: 'co_1', name: 'Seed' };
    const changed = { valid_to: day(8), ended_by: 'update' };
    const removed = { valid_to: day(12), ended_by: 'removed' };
    await mirror.insert('company_history_rows', { ...company, ...changed });
    await mirror.insert('company_rows', { ...company, name: 'New Ltd', valid_from: day(8) });
    await mirror.insert('company_history_rows', { ...company, id: 'co_2', name: 'Gone Ltd', ...removed });
    await mirror.insert('offering_history_rows', { ...round, ...changed });
    await mirror.insert('offering_rows', { ...round, name: 'Series A', valid_from: day(8) });
    await mirror.insert('offering_history_rows', { ...round, id: 'ofr_2', name: 'Bridge', ...removed });
    const change = { source_no: 1, kind: 'changed', fields: '[]', reason: null };
    await mirror.insert('change_rows', { ...change, seq: 1, kind: 'snapshot', id: null, at: day(1) });
    await mirror.insert('change_rows', {
      ...change,
      seq: 2,
      kind: 'added',
      id: 'co_1',
      about: 'company',
      at: day(2),
    });
    await mirror.insert('change_rows', { ...change, seq: 3, id: 'inv_stays', at: day(3) });
    await mirror.insert('change_rows', { ...change, seq: 4, id: 'ofr_1', about: 'round', at: day(4) });
    await mirror.insert('change_rows', {
      ...{ ...change, seq: 5, kind: 'removed', id: 'inv_leaves', at: day(6) },
    });
  });

  const read = <Result>(work: Parameters<typeof readMirror<Result>>[1]) => readMirror(mirror.place, work);

  /** What `query --as-of` shows. */
  async function queried(sql: string, asOf: Instant) {
    const limits = { timeoutMs: 30_000, rowsMax: null, asOf };
    const { columns, rows } = await runQuery(
      ...([mirror.place, sql, limits, systemClock, new AbortController().signal] as const),
    );
    const all: Row[] = [];
    for await (const row of rows)
      all.push(Object.fromEntries(columns.map((name, index) => [name, row[index]])) as Row);
    return all;
  }

  async function streamed(source: ReturnType<typeof exportRows>) {
    const all: Row[] = [];
    for await (const row of source.rows())
      all.push(Object.fromEntries(source.columns.map(({ name }, index) => [name, row[index]])) as Row);
    return all;
  }

  interface Named {
    readonly id?: unknown;
    readonly company_name?: unknown;
    readonly round_name?: unknown;
  }
  const shown = (rows: readonly Named[]) =>
    rows.map(({ id, company_name, round_name }) => [id, company_name, round_name]);

  /** In one statement, because each query starts a process or a connection. */
  const everything = `
    SELECT 'record' AS of, id, company_id, offering_id, company_name, round_name FROM investments
    UNION ALL SELECT 'total', NULL, company_id, offering_id, company_name, round_name FROM round_totals
    ORDER BY 1, 2`;

  test.each(times)(
    'export, roster, history, the overview and its choices name companies and rounds as query --as-of %s does',
    async (at, company, round) => {
      const all = await queried(everything, at);
      const expected = shown(all.filter(({ of }) => of === 'record'));
      expect(expected).toContainEqual(['inv_stays', company, round]);
      const totals = all.filter(({ of }) => of === 'total');
      const picked = (rows: readonly object[], names: readonly string[]) =>
        rows.map((row) => JSON.stringify(names.map((name) => (row as Row)[name])));
      const distinct = (names: readonly string[]) => [...new Set(picked(totals, names))].sort();
      expect(distinct(['company_id'])).toContain('["co_1"]');
      const ofCompany = ['company_id', 'company_name'];
      const ofRound = ['offering_id', 'round_name', 'company_name'];
      const wanted: Omit<RosterWanted, 'identity'> = {
        ...{ filter: {}, order: 'status', descending: false, after: null, rowsMax: 10, asOf: at },
      };
      await read(async (db) => {
        for (const identity of [false, true]) {
          const exported = exportRows(db, { identity, order: 'id', asOf: at });
          expect(shown(await streamed(exported))).toEqual(expected);
          expect(shown(await streamed(rosterRows(db, {}, identity, at)))).toEqual(expected);
          expect(shown(await rosterPage(db, { ...wanted, identity }))).toEqual(expected);
        }
        expect(picked((await readPast(db, at, 10)).totals, ofCompany)).toEqual(distinct(ofCompany));
        expect(picked(await rosterChoices(db, at), ofRound)).toEqual(distinct(ofRound));
      });
      const ids = ['inv_changes', 'inv_elsewhere', 'inv_leaves', 'inv_stays'];
      const versions = await Promise.all(ids.map((id) => readHistory(mirror.place, { id, asOf: at })));
      expect(shown(versions.flat())).toEqual(expected);
    },
  );

  test('the newest changes as of a past time have the names of then', async () => {
    const changes = async (at: Instant | undefined) =>
      (await read((db) => latestChanges(db, 10, at))).map(({ seq, company_name, round_name }) => [
        ...[seq, company_name, round_name],
      ]);
    expect(await changes(day(7))).toEqual([
      [5, 'Old Ltd', 'Seed'],
      [4, 'Old Ltd', 'Seed'],
      [3, 'Old Ltd', 'Seed'],
      [2, 'Old Ltd', null],
      [1, null, null],
    ]);
    expect(await changes(day(9))).toEqual(await changes(undefined));
    expect((await changes(undefined))[0]).toEqual([5, 'New Ltd', 'Series A']);
  });

  test('query --as-of shows changes with the names of then, also of what was gone by then or is by now', async () => {
    const change = { source_no: 1, kind: 'removed', fields: '[]', reason: null };
    await mirror.insert('change_rows', {
      ...change,
      seq: 6,
      id: 'inv_elsewhere',
      kind: 'changed',
      at: day(6),
    });
    await mirror.insert('change_rows', { ...change, seq: 7, id: 'co_2', about: 'company', at: day(12) });
    await mirror.insert('change_rows', { ...change, seq: 8, id: 'ofr_2', about: 'round', at: day(12) });
    const post = { source_no: 1, id: 'upd_1', company_id: 'co_1', valid_from: day(4), change_seq: 9 };
    await mirror.insert('update_rows', post);
    const posted = { ...change, id: 'upd_1', about: 'update', kind: 'added', at: day(4) };
    await mirror.insert('change_rows', { ...posted, seq: 9 });
    const values = JSON.stringify({ company_id: 'co_1' });
    await mirror.insert('change_rows', { ...posted, seq: 10, id: 'upd_gone', new_values: values });
    const shownAt = async (at: Instant) =>
      (await queried('SELECT seq, company_name, round_name FROM changes ORDER BY seq', at)).map((row) => [
        ...[Number(row.seq), row.company_name, row.round_name],
      ]);
    const of = (company: string, round: string) => [
      [1, null, null],
      [2, company, null],
      [3, company, round],
      [4, company, round],
      [5, company, round],
    ];
    const posts = (company: string) => [
      [9, company, null],
      [10, company, null],
    ];
    expect(await shownAt(day(7))).toEqual([
      ...of('Old Ltd', 'Seed'),
      [6, 'Gone Ltd', 'Bridge'],
      ...posts('Old Ltd'),
    ]);
    expect(await shownAt(day(9))).toEqual([
      ...of('New Ltd', 'Series A'),
      [6, 'Gone Ltd', 'Bridge'],
      ...posts('New Ltd'),
    ]);
    const now = await mirror.rows('SELECT seq, company_name, round_name FROM changes ORDER BY seq');
    expect(await shownAt(presentState)).toEqual(
      now.map((row) => [Number(row.seq), row.company_name, row.round_name]),
    );
    // The company and the round of 6 are gone, as in `investment_history`; they name themselves.
    expect((await shownAt(day(12))).slice(5)).toEqual([
      [6, null, null],
      [7, 'Gone Ltd', null],
      [8, 'New Ltd', 'Bridge'],
      ...posts('New Ltd'),
    ]);
  });

  test('the newest changes as of a past time have the title of a post unless it changed since', async () => {
    const post = { source_no: 1, company_id: 'co_1', title: 'Present title', change_seq: 9 };
    await mirror.insert('update_rows', { ...post, id: 'upd_1', valid_from: day(4) });
    await mirror.insert('update_rows', { ...post, id: 'upd_2', valid_from: day(9) });
    const change = { source_no: 1, kind: 'changed', about: 'update', fields: '["pinned"]', reason: null };
    await mirror.insert('change_rows', { ...change, seq: 6, id: 'upd_1', at: day(6) });
    await mirror.insert('change_rows', { ...change, seq: 7, id: 'upd_2', at: day(6) });
    const changes = await read((db) => latestChanges(db, 2, day(7)));
    expect(changes.map(({ id, title, company_name }) => [id, title, company_name])).toEqual([
      ['upd_2', null, 'Old Ltd'],
      ['upd_1', 'Present title', 'Old Ltd'],
    ]);
  });

  test('the newest changes have the names of the rounds between which an investment or the current round changed', async () => {
    const values = (id: string) => JSON.stringify({ current_round_id: id });
    await mirror.insert('change_rows', {
      ...{ source_no: 1, seq: 6, kind: 'changed', about: 'company', id: 'co_1', at: day(9), reason: null },
      ...{ fields: '["current_round_id"]', old_values: values('ofr_1'), new_values: values('ofr_unknown') },
    });
    const moved = { source_no: 1, kind: 'changed', fields: '["company_id","offering_id"]', reason: null };
    await mirror.insert('change_rows', { ...moved, seq: 7, id: 'inv_moves', at: day(10) });
    const moves = { ...recordDefaults, source_no: 1, id: 'inv_moves', valid_from: day(10), change_seq: 7 };
    await mirror.insert('investment_rows', { ...moves, row_no: 3, company_id: 'co_9', offering_id: 'ofr_9' });
    await mirror.insert('history_rows', {
      ...{ ...moves, valid_from: day(2), change_seq: 1, valid_to: day(10), ended_by: 'update' },
    });
    const changes = await read((db) => latestChanges(db, 2));
    expect(changes.map(({ seq, names }) => [seq, names])).toEqual([
      [7, { co_1: 'New Ltd', ofr_1: 'Series A' }],
      [6, { ofr_1: 'Series A' }],
    ]);
  });

  test('a search of a past roster finds the names of then', async () => {
    const found = (text: string, at: Instant, by: 'person' | 'named' = 'person') =>
      read(async (db) =>
        (
          await rosterPage(db, {
            ...{ filter: { [by]: text }, order: 'status', descending: false, after: null, rowsMax: 10 },
            ...{ identity: false, asOf: at },
          } as RosterWanted)
        ).map(({ id }) => id),
      );
    const all = ['inv_changes', 'inv_leaves', 'inv_stays'];
    expect(await found('old ltd', day(5))).toEqual(all);
    expect(await found('seed', day(5))).toEqual(all);
    expect(await found('new ltd', day(5))).toEqual([]);
    expect(await found('old ltd', day(9))).toEqual([]);
    for (const [text, at] of [
      ['old ltd', day(5)],
      ['seed', day(5)],
      ['new ltd', day(5)],
      ['series', presentState],
    ] as const)
      expect(await found(text, at, 'named')).toEqual(await found(text, at));
  });
});
