import { beforeEach, describe, expect, test } from 'vitest';
import { changesSince } from '../../src/store/reads/changes.js';
import { readMirror } from '../../src/store/reads/read-mirror.js';
import type { Row, WorkingMirror } from './support/databases.js';
import { recordDefaults, sourceRow } from './support/mirror.js';
import { reusingDatabases } from './support/reusing-databases.js';

const day = (number: number) => `2026-10-${String(number).padStart(2, '0')}T00:00:00.000Z`;

describe.each(reusingDatabases)('names in $database', ({ open }) => {
  let mirror: WorkingMirror;
  let seq: number;

  beforeEach(async () => {
    mirror = await open();
    seq = 0;
    for (const no of [1, 2]) await mirror.insert('sources', sourceRow(no, { name: `source${no}` }));
  });

  const version = (from: number, to?: number, ended_by = 'update') => ({
    ...{ valid_from: day(from), change_seq: from },
    ...(to === undefined ? {} : { valid_to: day(to), ended_by }),
  });
  const company = (id: string, name: string | null, more: Row, source_no = 1) =>
    mirror.insert('valid_to' in more ? 'company_history_rows' : 'company_rows', {
      ...{ source_no, id, name, reported_rounds: '[]' },
      ...more,
    });
  const round = (id: string, company_id: string | null, name: string | null, more: Row) =>
    mirror.insert('valid_to' in more ? 'offering_history_rows' : 'offering_rows', {
      ...{ source_no: 1, id, company_id, name },
      ...more,
    });
  const investment = (id: string, of: Row, more: Row) =>
    mirror.insert('valid_to' in more ? 'history_rows' : 'investment_rows', {
      ...{ ...recordDefaults, source_no: 1, id },
      ...of,
      ...more,
    });
  const change = (kind: string, id: string | null, more: Row = {}) => {
    seq += 1;
    return mirror.insert('change_rows', {
      ...{ seq, source_no: 1, kind, id, fields: '[]', at: day(20), reason: null },
      ...more,
    });
  };
  const named = async () =>
    (await readMirror(mirror.place, (db) => changesSince(db, { after: 0 }))).map(
      ({ id, company_name, round_name }) => [id, company_name, round_name],
    );

  test('a change of an investment has the names of its record, and of its last version when the record is gone', async () => {
    await company('co_1', 'Tidal', version(1));
    await company('co_2', 'Ebb', version(1));
    await company('co_1', 'Of another source', version(1), 2);
    await round('ofr_1', 'co_1', 'Seed', version(1));
    await round('ofr_2', 'co_2', 'Series A', version(1));
    const [first, second] = [
      { company_id: 'co_1', offering_id: 'ofr_1' },
      { company_id: 'co_2', offering_id: 'ofr_2' },
    ];
    // Moved to another round, gone after a move, without a round by now, of unknown ones, and without any version.
    await investment('inv_moved', first, version(1, 5));
    await investment('inv_moved', second, version(5));
    await investment('inv_gone', second, version(5, 9, 'tombstone'));
    await investment('inv_gone', first, version(1, 5));
    await investment('inv_bare', first, version(1, 5));
    await investment('inv_bare', { company_id: null, offering_id: null }, version(5));
    await investment('inv_odd', { company_id: 'co_9', offering_id: 'ofr_9' }, version(5));
    for (const id of ['inv_moved', 'inv_gone', 'inv_bare', 'inv_odd', 'inv_purged'])
      await change(id === 'inv_gone' || id === 'inv_purged' ? 'removed' : 'changed', id);
    await change('snapshot', null);
    await change('added', 'inv_moved', { source_no: 2 });
    expect(await named()).toEqual([
      ['inv_moved', 'Ebb', 'Series A'],
      ['inv_gone', 'Ebb', 'Series A'],
      ['inv_bare', null, null],
      ['inv_odd', null, null],
      ['inv_purged', null, null],
      [null, null, null],
      ['inv_moved', null, null],
    ]);
  });

  test('a change of a company, a round or a post has its own names, also when it is gone', async () => {
    await company('co_1', 'Tidal', version(5));
    await company('co_1', 'Tidal before', version(1, 5));
    await company('co_gone', 'Ebb before', version(1, 5));
    await company('co_gone', 'Ebb', version(5, 9, 'removed'));
    await company('co_hidden', 'Once known', version(1, 5));
    await company('co_hidden', null, { ...version(5), unavailable: '404 not_found' });
    await round('ofr_1', 'co_1', 'Seed', version(1));
    await round('ofr_gone', 'co_hidden', 'Bridge before', version(1, 5));
    await round('ofr_gone', 'co_1', 'Bridge', version(5, 9, 'removed'));
    const post = { source_no: 1, company_id: 'co_1', title: 'Hello' };
    await mirror.insert('update_rows', { ...post, id: 'upd_1', ...version(1) });
    for (const id of ['co_1', 'co_gone', 'co_hidden', 'co_purged'])
      await change('changed', id, { about: 'company' });
    for (const id of ['ofr_1', 'ofr_gone', 'ofr_purged']) await change('removed', id, { about: 'round' });
    await change('changed', 'upd_1', { about: 'update', old_values: '{"title":"Hi"}' });
    await change('removed', 'upd_gone', { about: 'update', old_values: JSON.stringify(post) });
    await change('changed', 'upd_gone', {
      about: 'update',
      old_values: '{"pinned":0}',
      new_values: '{"pinned":1}',
    });
    await change('removed', 'upd_purged', { about: 'update' });
    expect(await named()).toEqual([
      ['co_1', 'Tidal', null],
      ['co_gone', 'Ebb', null],
      ['co_hidden', null, null],
      ['co_purged', null, null],
      ['ofr_1', 'Tidal', 'Seed'],
      ['ofr_gone', 'Tidal', 'Bridge'],
      ['ofr_purged', null, null],
      ['upd_1', 'Tidal', null],
      ['upd_gone', 'Tidal', null],
      ['upd_gone', null, null],
      ['upd_purged', null, null],
    ]);
  });

  test('superseded versions of a round have the name of their company, and stats their unknown fields', async () => {
    await company('co_1', 'Tidal', version(5));
    await round('ofr_1', 'co_1', 'Seed', version(1, 5));
    await round('ofr_1', 'co_9', 'Seed', version(5, 9));
    const counts = { investments: 1, committed_cents: 2, raised_cents: 3 };
    const stats = { ...counts, source_no: 1, offering_id: 'ofr_1', company_id: 'co_1', asked_at: day(9) };
    await mirror.insert('round_stat_rows', { ...stats, status: 'active', extra: '{"investors":1}' });
    await mirror.insert('round_stat_rows', { ...stats, status: 'executed' });
    expect(await mirror.rows('SELECT company_name FROM round_history ORDER BY valid_from')).toEqual([
      { company_name: 'Tidal' },
      { company_name: null },
    ]);
    expect(await mirror.rows('SELECT company_name, extra FROM round_stats ORDER BY status')).toEqual([
      { company_name: 'Tidal', extra: '{"investors":1}' },
      { company_name: 'Tidal', extra: null },
    ]);
  });
});
