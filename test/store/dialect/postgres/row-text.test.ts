import { expect, test } from 'vitest';
import { cellsOf } from '../../../../src/store/dialect/postgres/row-text.js';
import { postgresStore } from '../../postgres-store.js';

const texts: readonly (string | null)[] = [
  ...['', 'plain', ' ', 'a b', ',', '(', ')', '(a,"b")', '"', '""', '"""', 'a"b', '"a"', '",', ',"'],
  ...['\\', '\\\\', '\\"', '"\\', 'a\\nb', '\n', '\t', '李', '🙂', 'NULL', 'null', '{1,2}', "it's"],
  null,
];

test('a row in the text format of PostgreSQL is read as the server wrote it, whatever is in its cells', async () => {
  const { pool } = await postgresStore();
  const rowOf = async (cells: readonly (string | null)[]) => {
    const list = cells.map((_, at) => `$${at + 1}::text`).join(', ');
    const { rows } = await pool.query<{ text: string }>(`SELECT ROW(${list})::text AS text`, [...cells]);
    return rows[0]?.text ?? '';
  };
  expect(cellsOf(await rowOf(texts), texts.length)).toEqual(texts);
  for (const text of texts) {
    expect(cellsOf(await rowOf([text]), 1)).toEqual([text]);
    expect(cellsOf(await rowOf([text, text, null, text]), 4)).toEqual([text, text, null, text]);
    expect(cellsOf(await rowOf([null, text]), 2)).toEqual([null, text]);
  }
});

test('a row of no columns and a row of one null have the same text, and are told apart by their number of columns', () => {
  expect([cellsOf('()', 0), cellsOf('()', 1)]).toEqual([[], [null]]);
});
