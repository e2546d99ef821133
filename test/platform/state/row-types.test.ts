import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openState } from '../../../src/platform/state/database.js';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { type Fields, type Kind, rowCallsOf } from '../../support/row-calls.js';
import { differences, sqliteColumns } from '../../support/row-differences.js';

/*
 * `one<Row>` and `all<Row>` believe the row type that the caller writes. Here each of their statements is prepared on
 * the migrated schema and its columns are compared with that type.
 */

/** Statements put together at run time, which this test cannot read. Other tests run them. */
const assembled = [
  'members/listing.ts: pageSql is not a constant object',
  'investments/queries.ts: the row type Row is not declared in a file of its own',
  'catalog/viewer.ts: sql is not declared',
  'sandbox/control/act.ts: the row type ReturnType is not declared in a file of its own',
];

/** Columns that may be NULL in the table, but not in the rows that the statement selects. */
const notNullHere = [
  'attribution/model.ts: investor_no',
  'companies/updates.ts: published_at',
  'sandbox/seed/insert-in-bulk.ts: type',
  'sandbox/seed/insert-in-bulk.ts: name',
  'sandbox/seed/insert-in-bulk.ts: sql',
  'sandbox/world.ts: name',
];

const callees = { one: { type: 0, sql: 1 }, all: { type: 0, sql: 1 } };
const root = join(packageRoot, 'src/platform');
const calls = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort()
  .flatMap((path) => rowCallsOf(join(root, path), path, { callees }));
const fileOf = (at: string): string => at.replace(/:\d+$/, '');

const state = openState(':memory:');
afterAll(() => {
  state.close();
});

const differencesOf = (sql: string, fields: Fields): string[] =>
  differences(sql, sqliteColumns(state, sql), fields);

test('the columns of each platform statement match its declared row type', () => {
  const wrong = calls.flatMap(({ at, sql, fields }) =>
    'unknown' in sql
      ? []
      : sql.texts.flatMap((text) => differencesOf(text, fields).map((difference) => `${at}: ${difference}`)),
  );
  const expected = notNullHere.map((line) => `${line} may be NULL`);
  expect(wrong.map((line) => line.replace(/:\d+:/, ':'))).toEqual(expected);
  expect(calls.length).toBeGreaterThan(200);
});

test('every platform statement except the listed ones is constant text', () => {
  const unread = calls.flatMap(({ at, sql }) => ('unknown' in sql ? [`${fileOf(at)}: ${sql.unknown}`] : []));
  expect([...new Set(unread)].sort()).toEqual([...assembled].sort());
});

test('a missing column, an unused one, another type and a NULL are found', () => {
  const fields = new Map<string, ReadonlySet<Kind>>([
    ['id', new Set<Kind>(['number'])],
    ['bio', new Set<Kind>(['text'])],
    ['shoe_size', new Set<Kind>(['number'])],
  ]);
  expect(differencesOf('SELECT id, bio, email FROM users', fields)).toEqual([
    'shoe_size is not selected',
    'id is text, declared as number',
    'bio may be NULL',
    'email is selected but not declared',
  ]);
});
