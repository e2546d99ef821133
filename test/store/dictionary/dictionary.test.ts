import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { schemaPath } from '../../../src/runtime/package-root.js';
import { innerRelations } from '../../../src/store/dictionary/inner-relations.js';
import { publicRelations } from '../../../src/store/dictionary/relations.js';
import { renderDictionary } from '../../../src/store/dictionary/render.js';
import { moneyViewName, moneyViews } from '../../../src/store/dictionary/typed-views.js';
import { freshMirror } from '../support/mirror.js';

test('schema/dictionary.md is up to date with the dictionary in the code', () => {
  expect(readFileSync(schemaPath('dictionary.md'), 'utf8')).toBe(renderDictionary());
});

test('the dictionary describes exactly the tables and views of a migrated database', () => {
  const { raw } = freshMirror();
  const relations = raw
    .prepare<[], { name: string; type: string }>(
      "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    .all();
  const described = [
    ...publicRelations.map(({ name, kind }) => `${kind} ${name}`),
    ...Object.keys(innerRelations).map((name) => `table ${name}`),
    ...moneyViews.map(({ name }) => `view ${moneyViewName(name)}`),
  ];
  expect(described.sort()).toEqual(relations.map(({ name, type }) => `${type} ${name}`).sort());
});

test.each(publicRelations)('the dictionary describes the columns of $name, in order', ({ name, columns }) => {
  const { raw } = freshMirror();
  const real = raw.prepare('SELECT name FROM pragma_table_xinfo(?)').pluck().all(name);
  expect(columns.map((entry) => entry.name)).toEqual(real);
});

const stored = { text: 'TEXT', time: 'TEXT', day: 'TEXT', decimal: 'TEXT', json: 'TEXT' } as const;

test.each(publicRelations)(
  'the documented types and nulls of $name match the database',
  ({ name, columns }) => {
    const { raw } = freshMirror();
    const info = raw
      .prepare<[string], { name: string; type: string; notnull: number; pk: number }>(
        'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?)',
      )
      .all(name);
    for (const real of info) {
      const entry = columns.find((candidate) => candidate.name === real.name);
      // A computed column has no declared type (BLOB in a union); other columns keep the type of the table.
      if (real.type !== '' && real.type !== 'BLOB' && entry !== undefined)
        expect([real.name, Object.hasOwn(stored, entry.type) ? 'TEXT' : 'INTEGER']).toEqual([
          real.name,
          real.type,
        ]);
      if (real.notnull === 1) expect([real.name, entry?.nullWhen]).toEqual([real.name, undefined]);
    }
  },
);
