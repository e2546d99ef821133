import { expect } from 'vitest';
import type { UserId } from '../../src/domain/ids.js';
import { test } from './both-databases.js';
import { type Fixture, mirrorFixture } from './mirror-fixture.js';
import { identity, record, rejected } from './samples.js';

const names = ({ rows }: Fixture) => rows('SELECT id, name FROM identities ORDER BY id');
const unnamed = { investor_id: null };

test('a record that names no investor is stored without names when the investor of its stored version was forgotten', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1', { investor_id: 'usr_1' as UserId }), record('inv_2')]]);
  await fixture.erasures.forget('usr_1' as UserId);
  const again = (id: string) =>
    record(id, { ...unnamed, status: 'executed', extra: '{"nickname":"CANARY"}' }, identity('CANARY'));
  await fixture.delta([again('inv_1'), again('inv_2')]);
  expect(await names(fixture)).toEqual([{ id: 'inv_2', name: 'CANARY' }]);
  expect(await fixture.rows("SELECT id FROM investments WHERE extra LIKE '%CANARY%'")).toEqual([
    { id: 'inv_2' },
  ]);
});

test('an unreadable record is kept without its body when the investor of its stored version was forgotten', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([[record('inv_1', { investor_id: 'usr_1' as UserId }), record('inv_2')]]);
  await fixture.erasures.forget('usr_1' as UserId);
  await fixture.delta([rejected('inv_1', '{"name":"CANARY"}'), rejected('inv_2', '{"name":"other"}')]);
  expect(await fixture.rows('SELECT id, body FROM quarantine_rows ORDER BY id')).toEqual([
    { id: 'inv_1', body: '' },
    { id: 'inv_2', body: '{"name":"other"}' },
  ]);
});

test('a deactivated record that names no investor erases the names of all records of the investor of its stored version', async () => {
  const fixture = await mirrorFixture();
  const theirs = { investor_id: 'usr_1' as UserId };
  await fixture.list([[record('inv_1', theirs), record('inv_2', theirs), record('inv_3')]]);
  await fixture.delta([record('inv_1', { ...unnamed, investor_deactivated: true }, null)]);
  expect(await names(fixture)).toEqual([{ id: 'inv_3', name: 'inv_3' }]);
});
