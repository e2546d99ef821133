import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { describeColumns } from '../../src/store/dialect/postgres/described.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { type Kind, type RowCall, rowCallsOf } from '../support/row-calls.js';
import { differences, type ResultColumn, sqliteColumns } from '../support/row-differences.js';
import { freshMirror } from './support/mirror.js';

/*
 * `prepare<Values, Row>`, `rows<Row>` and `row<Row>` believe the row type that the caller writes. Here each of their
 * statements is prepared on the migrated schema of its database and its columns are compared with that type.
 */

/** Statements put together at run time, and rows of types that are computed. Other tests run them. */
const assembled = [
  'dialect/postgres/dimensions.ts: the row type Record is not declared in a file of its own',
  'dialect/postgres/erase-source.ts: sql is not declared',
  'dialect/postgres/erase-source.ts: table is not declared',
  'dialect/postgres/fleet.ts: the row type Row is not declared in a file of its own',
  'dialect/postgres/identity-eraser.ts: sql is not a constant',
  'dialect/postgres/notices.ts: SpreadElement is not constant',
  'dialect/postgres/purge.ts: table is not a constant',
  'dialect/postgres/stored-row.ts: the row type is a TSMappedType',
  'dialect/postgres/swap.ts: the row type Omit is not declared in a file of its own',
  'dialect/postgres/transaction.ts: the row type Row is not declared in a file of its own',
  'dialect/postgres/vault.ts: AwaitExpression is not constant',
  'dialect/sqlite/dimensions.ts: the row type Record is not declared in a file of its own',
  'dialect/sqlite/erase-source.ts: sql is not declared',
  'dialect/sqlite/erase-source.ts: table is not a constant',
  'dialect/sqlite/identity-eraser.ts: list is not declared',
  'dialect/sqlite/identity-eraser.ts: sql is not declared',
  'dialect/sqlite/judge-program.ts: statement is not declared',
  'dialect/sqlite/kept-totals.ts: sourceNo is not declared',
  'dialect/sqlite/reading-dialect.ts: the row type Row is not declared in a file of its own',
  'dialect/sqlite/snapshot.ts: the row type Row is not declared in a file of its own',
  'dialect/sqlite/statements.ts: the row type is a TSTypeOperator',
  'migrate-data/table-lines.ts: the row type is a TSArrayType',
];

/** Columns that may be NULL in the table, but not in the rows that the statement selects, and tables of one connection. */
const expectedOnSqlite = [
  'dialect/sqlite/backup.ts: name may be NULL',
  'dialect/sqlite/backup.ts: no such table: backup_proof',
  'dialect/sqlite/described-schema.ts: name may be NULL',
  'dialect/sqlite/described-schema.ts: sql may be NULL',
  'dialect/sqlite/judge-program.ts: tbl_name may be NULL',
  'dialect/sqlite/judge-program.ts: type may be NULL',
  'dialect/sqlite/judge-program.ts: name may be NULL',
  'dialect/sqlite/judge-program.ts: tbl_name may be NULL',
  'dialect/sqlite/swap.ts: no such table: swap',
  'dialect/sqlite/swap.ts: no such table: swap',
  'dialect/sqlite/swap.ts: no such table: temp.swap',
  'dialect/sqlite/unknown-fields.ts: sql may be NULL',
  'migrate-data/sqlite-source.ts: name may be NULL',
];
const expectedOnPostgres = [
  'dialect/postgres/changes.ts: pg_notify is selected but not declared',
  'dialect/postgres/commit.ts: investor_id may be NULL',
  'dialect/postgres/listen-notify.ts: pg_notify is selected but not declared',
  'dialect/postgres/swap.ts: relation "swap" does not exist',
  'dialect/postgres/swap.ts: relation "swap" does not exist',
];

const root = join(packageRoot, 'src/store');
const paths = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort();

/** Child processes and threads work as soon as they are loaded. */
const isProgram = (path: string): boolean => /-(child|thread)\.ts$/.test(path);

async function storeCalls(): Promise<RowCall[]> {
  const modules = new Map<string, Readonly<Record<string, unknown>>>();
  for (const path of paths.filter((path) => !isProgram(path)))
    modules.set(join(root, path), await import(join(root, path)));
  const callees = {
    prepare: { type: 1, sql: 0 },
    rows: { type: 0, sql: 0 },
    row: { type: 0, sql: 0 },
  };
  return paths.flatMap((path) => rowCallsOf(join(root, path), path, { callees, modules }));
}

const calls = await storeCalls();
const onPostgres = ({ at }: RowCall): boolean => at.startsWith('dialect/postgres/');
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const lines = (at: string, found: () => readonly string[]): string[] => {
  try {
    return found().map((difference) => `${at}: ${difference}`);
  } catch (error) {
    return [`${at}: ${messageOf(error)}`];
  }
};
const withoutLine = (line: string): string => line.replace(/:\d+:/, ':');

test('the columns of each SQLite statement of the store match its declared row type', () => {
  const { raw } = freshMirror();
  const wrong = calls
    .filter((call) => !onPostgres(call))
    .flatMap(({ at, sql, fields }) =>
      'unknown' in sql
        ? []
        : sql.texts.flatMap((text) => lines(at, () => differences(text, sqliteColumns(raw, text), fields))),
    );
  expect(wrong.map(withoutLine)).toEqual(expectedOnSqlite);
});

test('the columns of each PostgreSQL statement of the store match its declared row type', async () => {
  const { url } = await migratedDatabase();
  const wrong: string[] = [];
  await withClient(url, async (client) => {
    for (const { at, sql, fields } of calls.filter(onPostgres))
      for (const text of 'unknown' in sql ? [] : sql.texts)
        try {
          const columns = await postgresColumns(client, text);
          wrong.push(...lines(at, () => differences(text, columns, fields)));
        } catch (error) {
          wrong.push(`${at}: ${messageOf(error)}`);
        }
  });
  expect(wrong.map(withoutLine)).toEqual(expectedOnPostgres);
});

const { builtins } = pg.types;
const numbers = [
  builtins.INT2,
  builtins.INT4,
  builtins.INT8,
  builtins.NUMERIC,
  builtins.FLOAT8,
  builtins.BOOL,
];
const texts = [
  builtins.TEXT,
  builtins.VARCHAR,

  builtins.TIMESTAMPTZ,
  builtins.JSON,
  builtins.JSONB,
];
/** As `values.ts` parses them: a boolean is 1 or 0, times and JSON stay text. */
const kindOfOid: ReadonlyMap<number, Kind> = new Map<number, Kind>([
  ...numbers.map((oid) => [oid, 'number'] as const),
  ...texts.map((oid) => [oid, 'text'] as const),
  [builtins.BYTEA, 'blob'],
  // `name`, which the driver does not list.
  [19, 'text'],
]);

/** Returns the columns of a statement on PostgreSQL, which knows their types and, for columns of tables, NOT NULL. */
async function postgresColumns(client: pg.Client, sql: string): Promise<ResultColumn[]> {
  const described = await describeColumns(client, sql);
  if (described === null) throw new Error(`no rows: ${sql}`);
  const { rows } = await client.query<{ place: number }>(
    `SELECT o.n::int - 1 AS place FROM unnest($1::oid[], $2::int[]) WITH ORDINALITY AS o(relation, attribute, n)
     JOIN pg_class c ON c.oid = o.relation AND c.relkind = 'r'
     JOIN pg_attribute a ON a.attrelid = o.relation AND a.attnum = o.attribute AND NOT a.attnotnull`,
    [described.tables, described.attributes],
  );
  const nullable = new Set(rows.map(({ place }) => place));
  return described.columns.map((name, place) => ({
    name,
    kind: kindOfOid.get(described.types[place] ?? 0),
    mayBeNull: nullable.has(place),
  }));
}

test('every statement of the store except the listed ones is constant text', () => {
  const unread = calls.flatMap(({ at, sql }) =>
    'unknown' in sql ? [`${at.replace(/:\d+$/, '')}: ${sql.unknown}`] : [],
  );
  expect([...new Set(unread)].sort()).toEqual([...assembled].sort());
  expect(calls.length).toBeGreaterThan(120);
});
