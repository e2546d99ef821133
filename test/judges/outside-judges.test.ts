import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { publicRelations } from '../../src/store/dictionary/relations.js';
import { tempFolder } from '../store/temp-folder.js';
import { compared, comparedRelations, notCompared } from './compared-relations.js';
import { findPrograms, noPrograms, toldPgAmcheck, toldSqldiff } from './outside-programs.js';
import { verdictOf } from './pg-amcheck.js';
import { comparisonOf, writeCompared } from './sqldiff.js';

test('sqldiff: each public relation is compared or named as one that is not, and each exception is a column', () => {
  const names = publicRelations.map(({ name }) => name).sort();
  expect([...Object.keys(compared), ...Object.keys(notCompared)].sort()).toEqual(names);
  for (const { name, columns } of publicRelations) {
    const rule = compared[name];
    const known = columns.map((column) => column.name);
    const exceptions = [...Object.keys(rule?.mayDiffer ?? {}), ...(rule?.figures ?? [])];
    expect(known).toEqual(expect.arrayContaining([...(rule?.key ?? []), ...exceptions]));
  }
});

test('sqldiff: what is written for it has every compared row under its key, and refuses two rows of one key', async () => {
  const file = join(tempFolder(), 'compared');
  const relations = comparedRelations('with figures').filter(({ name }) => name === 'round_totals');
  const row = { source: 'acme', company_id: 'com_1', offering_id: null, status: 'active', currency: 'usd' };
  await writeCompared(file, relations, async () => [
    { ...row, investments: 3 },
    { ...row, currency: 'eur' },
  ]);
  const database = new Sqlite(file, { readonly: true });
  const rows = database
    .prepare('SELECT row_key, investments, typeof(investments) AS type, exact_cents FROM round_totals')
    .all();
  database.close();
  expect(rows).toEqual([
    { row_key: '["acme","com_1",null,"active","usd"]', investments: 3, type: 'integer', exact_cents: null },
    { row_key: '["acme","com_1",null,"active","eur"]', investments: null, type: 'null', exact_cents: null },
  ]);
  await expect(writeCompared(file, relations, async () => [row, row])).rejects.toThrow('UNIQUE');
});

test('sqldiff: its output becomes the rows that are the same and the statements that are not', () => {
  const ended = (out: string, code = 0, err = '') => ({ code, out, err });
  const equal = 'roster: 0 changes, 0 inserts, 0 deletes, 60 unchanged\n';
  expect(comparisonOf(ended(equal), ended(''))).toEqual({ same: 60, differences: [] });
  const other = 'roster: 1 changes, 0 inserts, 2 deletes, 57 unchanged';
  const update = 'UPDATE roster SET status=\'active\' WHERE row_key=\'["acme","inv_1"]\';';
  expect(comparisonOf(ended(`${equal}${other}\n`), ended(`${update}\n`))).toEqual({
    same: 117,
    differences: [other, update],
  });
  expect(() => comparisonOf(ended('', 1, 'not a database'), ended(''))).toThrow(
    'exits with 1: not a database',
  );
});

test('pg_amcheck: its verdict is null without damage, and otherwise what it prints first', () => {
  expect(verdictOf({ code: 0, out: '', err: '' })).toBeNull();
  const found =
    'heap table "d.s.investment_rows", block 3, offset 7:\n    xmin 12 precedes oldest valid\nmore\n';
  expect(verdictOf({ code: 2, out: found, err: 'a warning\n' })).toBe(
    'pg_amcheck exits with 2: heap table "d.s.investment_rows", block 3, offset 7: xmin 12 precedes oldest valid',
  );
  expect(verdictOf({ code: 1, out: '', err: 'error: no connection\n' })).toContain(
    'exits with 1: error: no connection',
  );
});

test('a run says which outside programs judge, and that an absent one was not used', () => {
  expect(findPrograms(tempFolder()).sqldiff).toBeNull();
  expect(toldSqldiff(noPrograms)).toBe(
    "sqldiff was not used: it is not installed (Debian's package sqlite3-tools)",
  );
  expect(toldPgAmcheck({ ...noPrograms, pgAmcheck: '/bin/pg_amcheck' })).toBe(
    'pg_amcheck judges too: /bin/pg_amcheck',
  );
});
