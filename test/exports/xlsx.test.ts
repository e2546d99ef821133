import { expect, test } from 'vitest';
import { defined } from '../../src/domain/defined.js';
import type { Cell, ExportColumn } from '../../src/exports/ports.js';
import { xlsx } from '../../src/exports/xlsx.js';
import fc from '../support/property.js';
import { rowSource } from './rows.js';
import { sheetsOf } from './workbook.js';

const columns: readonly ExportColumn[] = [
  { name: 'id', kind: 'text' },
  { name: 'committed_cents', kind: 'number' },
  { name: 'change_seq', kind: 'number' },
  { name: 'shares', kind: 'decimal' },
  { name: 'visible', kind: 'flag' },
  { name: 'applied_at', kind: 'time' },
  { name: 'blockers', kind: 'json' },
];

async function bytesOf(rows: readonly (readonly Cell[])[], of = columns, rowsMax?: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  const options = defined({ rowsMax });
  for await (const piece of xlsx(rowSource(of, rows), { sheet: 'investments', ...options }))
    pieces.push(piece);
  return Buffer.concat(pieces);
}

test('xlsx: amounts are money, times dates, flags TRUE or FALSE, numbers numbers, and a null is an empty cell', async () => {
  const [sheet, ...others] = sheetsOf(
    await bytesOf([
      ['inv_1', 100_005, 7, '10.50', 1, '2026-10-18T14:05:22.000Z', '[{"key":"a"}]'],
      ['inv_2', -1, null, null, 0, null, '[]'],
    ]),
  );
  expect(others).toEqual([]);
  expect(sheet?.name).toBe('investments');
  expect(sheet?.cells).toEqual({
    ...{
      A1: 'id',
      B1: 'committed',
      C1: 'change_seq',
      D1: 'shares',
      E1: 'visible',
      F1: 'applied_at',
      G1: 'blockers',
    },
    ...{
      A2: 'inv_1',
      B2: 1000.05,
      C2: 7,
      D2: 10.5,
      E2: true,
      F2: '2026-10-18T14:05:22.000Z',
      G2: '[{"key":"a"}]',
    },
    ...{ A3: 'inv_2', B3: -0.01, E3: false, G3: '[]' },
  });
  expect(sheet?.xml).toContain('<c r="B2" s="2"><v>1000.05</v></c>');
});

test('xlsx: the header is frozen, and a filter covers all rows', async () => {
  const [sheet] = sheetsOf(await bytesOf([['inv_1', 1, 1, '1', 1, null, '[]']]));
  expect(sheet?.xml).toContain('<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>');
  expect(sheet?.xml).toMatch(/<\/sheetData><autoFilter ref="A1:G2"\/><\/worksheet>$/);
});

test('xlsx: a number that Excel would round is text with all its digits, and so is a time before its calendar', async () => {
  const [sheet] = sheetsOf(
    await bytesOf([
      [
        'a',
        9_007_199_254_740_991n,
        9_007_199_254_740_991n,
        '0.1234567890123456',
        1,
        '1899-12-31T00:00:00.000Z',
        null,
      ],
      [
        'b',
        123_456_789_012_345n,
        999_999_999_999_999,
        '12345678901.2340',
        1,
        '1900-03-01T00:00:00.000Z',
        null,
      ],
    ]),
  );
  expect(sheet?.cells).toMatchObject({
    ...{
      B2: '90071992547409.91',
      C2: '9007199254740991',
      D2: '0.1234567890123456',
      F2: '1899-12-31T00:00:00.000Z',
    },
    ...{ B3: 1_234_567_890_123.45, C3: 999_999_999_999_999, D3: 12_345_678_901.234 },
  });
  expect(sheet?.xml).toContain('<c r="F3" s="3"><v>61</v></c>');
});

test('xlsx: rows beyond the limit of a sheet continue on further ones, each with a header', async () => {
  const one = [{ name: 'id', kind: 'text' }] as const;
  const sheets = sheetsOf(await bytesOf([['a'], ['b'], ['c'], ['d'], ['e']], one, 3));
  expect(sheets.map(({ name, cells }) => [name, cells])).toEqual([
    ['investments', { A1: 'id', A2: 'a', A3: 'b' }],
    ['investments 2', { A1: 'id', A2: 'c', A3: 'd' }],
    ['investments 3', { A1: 'id', A2: 'e' }],
  ]);
  expect(sheetsOf(await bytesOf([['a'], ['b']], one, 3))).toHaveLength(1);
  expect(sheetsOf(await bytesOf([], one, 3)).map(({ cells }) => cells)).toEqual([{ A1: 'id' }]);
});

test('xlsx: any text comes back unchanged and never as a formula', async () => {
  const one = [{ name: 'name', kind: 'text' }] as const;
  const texts = fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(texts, async (found) => {
      const [sheet] = sheetsOf(
        await bytesOf(
          found.map((text) => [text]),
          one,
        ),
      );
      expect(found.map((_, at) => sheet?.cells[`A${at + 2}`])).toEqual(
        found.map((text) => text.toWellFormed()),
      );
      expect(sheet?.xml).not.toMatch(/<f>/);
    }),
    { numRuns: 60 },
  );
  const odd = ['=1+1', '_x0041_', '_x0041_x0042_', '_x0041\u0001', ' a ', 'x\ny', '\u0001', '<&>"', "'", ''];
  const [sheet] = sheetsOf(
    await bytesOf(
      odd.map((text) => [text]),
      one,
    ),
  );
  expect(Object.values(sheet?.cells ?? {}).slice(1)).toEqual(odd);
});

test('xlsx: text longer than a cell may be is refused with its column, row and length, not cut', async () => {
  await expect(bytesOf([['a', 1, 1, '1', 1, null, null], ['x'.repeat(32_768)]])).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('id of row 2 has 32768 characters'),
  });
  await expect(bytesOf([['x'.repeat(32_767)]])).resolves.toBeInstanceOf(Buffer);
});

test('xlsx: a workbook of 30,000 rows is yielded as its rows are read', async () => {
  let read = 0;
  const source = {
    columns,
    async *rows() {
      for (; read < 30_000; read += 1) yield [`inv_${read}`, read, read, '1', 1, null, '[]'];
    },
  };
  const readAtPieces: number[] = [];
  for await (const _ of xlsx(source, { sheet: 'investments' })) readAtPieces.push(read);
  expect(readAtPieces.filter((count) => count < 15_000).length).toBeGreaterThan(3);
  expect(read).toBe(30_000);
});
