import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openState } from '../../../src/platform/state/database.js';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { type Kind, rowCallsOf } from '../../support/row-types.js';

/*
 * `one<Row>` and `all<Row>` believe the row type that the caller writes. Here each of their statements is prepared on
 * the migrated schema and its columns are compared with that type.
 */

/** Statements put together at run time, which this test cannot read. Other tests run them. */
const assembled = [
  'members/listing.ts: pageSql is not a constant object',
  'investments/queries.ts: the row type Row is not declared in a file of its own',
  'catalog/viewer.ts: sql is not a constant',
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

const root = join(packageRoot, 'src/platform');
const calls = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort()
  .flatMap((path) => rowCallsOf(join(root, path), path));
const fileOf = (at: string): string => at.replace(/:\d+$/, '');

const state = openState(':memory:');
afterAll(() => {
  state.close();
});

const kindOfType: Readonly<Record<string, Kind>> = {
  TEXT: 'text',
  INTEGER: 'number',
  REAL: 'number',
  BLOB: 'blob',
};

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}
const nullable = (table: string, column: string): boolean => {
  const columns = state.pragma(`table_info("${table}")`) as readonly Column[];
  return columns.some(({ name, notnull, pk }) => name === column && notnull === 0 && pk === 0);
};

/** Every difference between a statement's columns and the declared fields. */
function differences(sql: string, fields: ReadonlyMap<string, ReadonlySet<Kind>>): string[] {
  const columns = state.prepare(sql).columns();
  const selected = new Set(columns.map(({ name }) => name));
  const found = [...fields.keys()]
    .filter((name) => !selected.has(name))
    .map((name) => `${name} is not selected`);
  const star = /SELECT (DISTINCT )?(\w+\.)?\*/.test(sql);
  for (const { name, table, column, type } of columns) {
    const kinds = fields.get(name);
    if (kinds === undefined) {
      if (!star) found.push(`${name} is selected but not declared`);
      continue;
    }
    const kind = kindOfType[type ?? ''];
    if (kinds.has('any') || kind === undefined) continue;
    if (!kinds.has(kind)) found.push(`${name} is ${type}, declared as ${[...kinds].join(' | ')}`);
    if (table !== null && column !== null && nullable(table, column) && !kinds.has('null'))
      found.push(`${name} may be NULL`);
  }
  return found;
}

test('the columns of each platform statement match its declared row type', () => {
  const wrong = calls.flatMap(({ at, sql, fields }) =>
    'unknown' in sql
      ? []
      : sql.texts.flatMap((text) => differences(text, fields).map((difference) => `${at}: ${difference}`)),
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
  expect(differences('SELECT id, bio, email FROM users', fields)).toEqual([
    'shoe_size is not selected',
    'id is TEXT, declared as number',
    'bio may be NULL',
    'email is selected but not declared',
  ]);
});
