import { expect, test } from 'vitest';
import { openSqlite } from '../../../src/store/dialect/sqlite/open.js';
import { renderDatasette } from '../../../src/store/dictionary/datasette.js';
import { innerRelations } from '../../../src/store/dictionary/inner-relations.js';
import { publicRelations } from '../../../src/store/dictionary/relations.js';
import { documentedQueries } from '../../../src/store/documented-queries.js';
import { freshMirror } from '../support/mirror.js';

interface Table {
  readonly description: string;
  readonly hidden?: true;
  readonly sort_desc?: string;
  readonly facets?: readonly string[];
  readonly columns?: Readonly<Record<string, string>>;
}

const document = JSON.parse(renderDatasette()) as {
  databases: Record<string, { tables: Record<string, Table>; queries: Record<string, { sql: string }> }>;
};
const database = document.databases.mirror;

test('datasette.json describes every public relation and hides every internal one', () => {
  const { raw } = freshMirror();
  const real = raw
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .pluck()
    .all() as string[];
  expect(Object.keys(database?.tables ?? {}).sort()).toEqual(real.sort());
  const hidden = Object.entries(database?.tables ?? {}).filter(([, table]) => table.hidden === true);
  expect(hidden.map(([name]) => name).sort()).toEqual(Object.keys(innerRelations).sort());
});

test.each(publicRelations)(
  'datasette.json describes each column of $name, and sorts and filters by existing columns',
  (relation) => {
    const table = database?.tables[relation.name];
    const names = relation.columns.map(({ name }) => name);
    expect(Object.keys(table?.columns ?? {})).toEqual(names);
    expect(Object.values(table?.columns ?? {}).filter((text) => text === '' || text.includes('`'))).toEqual(
      [],
    );
    const used = [...(table?.facets ?? []), ...(table?.sort_desc === undefined ? [] : [table.sort_desc])];
    expect(used.filter((name) => !names.includes(name))).toEqual([]);
  },
);

test('datasette.json contains the documented queries', () => {
  const reader = openSqlite(freshMirror().file, { readonly: true });
  const queries = Object.entries(database?.queries ?? {});
  expect(queries.map(([name]) => name)).toEqual(documentedQueries.map(({ name }) => name));
  for (const [, { sql }] of queries) expect(reader.raw.prepare(sql).reader).toBe(true);
  reader.close();
});
