import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite } from '../../../src/store/dialect/sqlite/open.js';
import { seedHistory, seedInvestment, seedRow, seedSource } from '../../store/support/mirror.js';
import { filledMirror } from '../filled-mirror.js';

const at = '2026-11-21T10:15:00.000Z';

test('changes are aligned for source names of different lengths, and show only unusual reasons', async () => {
  const world = await filledMirror(5);
  onTestFinished(() => world.close());
  await world.sync();
  world.inFile((raw) =>
    raw.exec(`INSERT INTO sources (no, name, fingerprint) VALUES (2, 'beta-labs', 'f');
    INSERT INTO change_rows (seq, source_no, id, kind, fields, reason, at) VALUES
      (11, 2, 'inv_b', 'added', '[]', 'changed', '${at}'),
      (12, 1, 'inv_a', 'changed', '["status","group_label"]', 'changed', '${at}'),
      (13, 1, 'inv_a', 'changed', '["group_label"]', 'recomputed', '${at}'),
      (14, 1, 'inv_a', 'removed', '[]', 'changed', '${at}')`),
  );
  expect((await world.run(['changes', '--since', '10'])).out.split('\n')).toEqual([
    `     11  ${at}  beta-labs  added     inv_b`,
    `     12  ${at}  acme       changed   inv_a  status,group_label`,
    `     13  ${at}  acme       changed   inv_a  group_label (recomputed)`,
    `     14  ${at}  acme       removed   inv_a`,
    '',
  ]);
});

test('changes print the values before and after, names alone where they are not known, and never identity', async () => {
  const world = await filledMirror(5);
  onTestFinished(() => world.close());
  await world.sync();
  const database = openSqlite(join(world.folder, 'mirror.db'));
  const fields = [
    ...['status', 'group_label', 'committed_cents', 'visible', 'blockers', 'converted_to'],
    ...['identity.name', 'identity.email'],
  ];
  const before = { status: 'active', group_label: null, committed_cents: 100, visible: 1 };
  const blockers = JSON.stringify([{ key: 'kyc', text: 'x'.repeat(80) }]);
  seedSource(database, 2, { name: 'beta' });
  const change = { source_no: 2, id: 'inv_a', kind: 'changed', reason: null };
  seedRow(database, 'change_rows', {
    ...change,
    seq: 11,
    fields: '["status"]',
    at: '2026-11-20T00:00:00.000Z',
  });
  seedRow(database, 'change_rows', { ...change, seq: 12, fields: JSON.stringify(fields), at });
  const span = { valid_from: '2026-11-20T00:00:00.000Z', valid_to: at, change_seq: 11, ended_by: 'update' };
  seedHistory(database, 2, 'inv_a', { ...before, ...span });
  const after = { status: 'canceled', group_label: '', committed_cents: null, visible: 0, blockers };
  seedInvestment(database, 2, 'inv_a', { ...after, converted_to: 'inv_b', valid_from: at, change_seq: 12 });
  database.close();
  const shown = [
    ...['status active → canceled', 'group_label none → none', 'committed_cents 100 → none', 'visible 1 → 0'],
    ...[`blockers [] → [{"key":"kyc","text":"${'x'.repeat(37)}…`, 'converted_to none → inv_b'],
    ...['identity.name', 'identity.email'],
  ];
  expect((await world.run(['changes', '--since', '10'])).out.split('\n')).toEqual([
    '     11  2026-11-20T00:00:00.000Z  beta  changed   inv_a  status',
    `     12  ${at}  beta  changed   inv_a  ${shown.join(', ')}`,
    '',
  ]);
  const json = JSON.parse((await world.run(['changes', '--since', '11', '--json'])).out) as object[];
  expect(json).toEqual([
    {
      seq: 12,
      source: 'beta',
      id: 'inv_a',
      kind: 'changed',
      fields,
      reason: null,
      at,
      before: { ...before, blockers: [], converted_to: null },
      after: { ...after, blockers: JSON.parse(blockers), converted_to: 'inv_b' },
      company_name: null,
      round_name: null,
    },
  ]);
});

test('changes print the names of round and company after the id, as far as they are known', async () => {
  const world = await filledMirror(5);
  onTestFinished(() => world.close());
  await world.sync();
  const database = openSqlite(join(world.folder, 'mirror.db'));
  seedSource(database, 2, { name: 'beta' });
  const known = { source_no: 2, valid_from: at, change_seq: 1 };
  seedRow(database, 'company_rows', {
    ...known,
    id: 'co_1',
    name: 'Tidal\u001b Labs',
    reported_rounds: '[]',
  });
  seedRow(database, 'offering_rows', { ...known, id: 'ofr_1', company_id: 'co_1', name: 'Seed' });
  seedInvestment(database, 2, 'inv_a', {});
  seedInvestment(database, 2, 'inv_b', { offering_id: null });
  const change = { source_no: 2, kind: 'added', at };
  for (const [seq, id, about] of [
    [11, 'inv_a', null],
    [12, 'inv_b', null],
    [13, 'co_1', 'company'],
    [14, 'ofr_1', 'round'],
  ] as const)
    seedRow(database, 'change_rows', { ...change, seq, id, about });
  seedRow(database, 'change_rows', {
    ...change,
    seq: 15,
    id: 'inv_a',
    kind: 'changed',
    fields: '["identity.name"]',
  });
  database.close();
  expect((await world.run(['changes', '--since', '10'])).out.split('\n')).toEqual([
    `     11  ${at}  beta  added     inv_a  Seed · Tidal\\u001b Labs`,
    `     12  ${at}  beta  added     inv_b  Tidal\\u001b Labs`,
    `     13  ${at}  beta  company_added  co_1  Tidal\\u001b Labs`,
    `     14  ${at}  beta  round_added  ofr_1  Seed · Tidal\\u001b Labs`,
    `     15  ${at}  beta  changed   inv_a  Seed · Tidal\\u001b Labs  identity.name`,
    '',
  ]);
});
