import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeParquet } from '../../src/exports/parquet.js';
import type { DuckDbPackage } from '../../src/exports/parquet-types.js';
import type { Cell, ExportColumn } from '../../src/exports/ports.js';
import { tempFolder } from '../store/temp-folder.js';
import { askDuckDb } from './ask-duckdb.js';
import { parquetFooter } from './parquet-footer.js';
import { rowSource } from './rows.js';

const idle = new AbortController().signal;
const columns: readonly ExportColumn[] = [
  { name: 'id', kind: 'text' },
  { name: 'raised_cents', kind: 'number' },
  { name: 'applied_at', kind: 'time' },
  { name: 'shares', kind: 'decimal' },
  { name: 'via_entity', kind: 'flag' },
  { name: 'blockers', kind: 'json' },
];
const row = (id: string, ...cells: readonly Cell[]): readonly Cell[] => [id, ...cells];
const large = 9_007_199_254_740_991n;
const rows = [
  row('inv_1', 12_345, '2026-03-31T23:59:59.999Z', '738.5', 1, '[{"key":"a"}]'),
  row('inv_2', -7, '1969-12-31T23:59:59.001Z', '-0.000000000001', 0, '[]'),
  row('inv_3', large, null, '99999999999999999999999999.5', 0, '[]'),
  row('inv_4', null, null, null, 0, '=1+1 "quoted"\n\u{1f41f}'),
];

test('the Parquet file has standard types, and another process reads the same values', async () => {
  const folder = tempFolder();
  const file = join(folder, "it's [a]*{b}%41#.parquet");
  writeFileSync(file, 'before');
  expect(await writeParquet(file, rowSource(columns, rows), idle)).toBe(statSync(file).size);
  expect(readdirSync(folder)).toEqual(["it's [a]*{b}%41#.parquet"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const footer = parquetFooter(file);
  expect(footer.rows).toBe(4n);
  expect(footer.columns.map(({ name, type, nulls }) => [name, type, nulls])).toEqual([
    ['id', 'BYTE_ARRAY STRING', 0n],
    ['raised_cents', 'INT64 INTEGER(64)', 1n],
    ['applied_at', 'INT64 TIMESTAMP(micros,UTC)', 2n],
    ['shares', 'FIXED DECIMAL(38,12)', 1n],
    ['via_entity', 'BOOLEAN', 0n],
    ['blockers', 'BYTE_ARRAY STRING', 0n],
  ]);
  const [, cents, applied] = footer.columns;
  expect([cents?.min, cents?.max]).toEqual([-7n, large]);
  expect([applied?.min, applied?.max]).toEqual([-999_000n, BigInt(Date.UTC(2026, 3)) * 1_000n - 1_000n]);
  expect(askDuckDb(file, 'SELECT * FROM read_parquet(FILE)')).toEqual([
    ['inv_1', '12345', '2026-03-31 23:59:59.999+00', '738.500000000000', true, '[{"key":"a"}]'],
    ['inv_2', '-7', '1969-12-31 23:59:59.001+00', '-0.000000000001', false, '[]'],
    ['inv_3', String(large), null, '99999999999999999999999999.500000000000', false, '[]'],
    ['inv_4', null, null, null, false, '=1+1 "quoted"\n\u{1f41f}'],
  ]);
});

test('the first and the last time that an investment can have are exact in the Parquet file', async () => {
  const file = join(tempFolder(), 'times.parquet');
  const times = ['0000-02-29T12:00:00.000Z', '9999-12-31T23:59:59.999Z'];
  const early = times.map((time, at) => [`inv_${at}`, time]);
  await writeParquet(
    file,
    rowSource(
      columns.filter(({ name }) => /^(id|applied_at)$/.test(name)),
      early,
    ),
    idle,
  );
  expect(askDuckDb(file, 'SELECT applied_at FROM read_parquet(FILE)')).toEqual([
    ['0000-02-29 12:00:00+00'],
    ['9999-12-31 23:59:59.999+00'],
  ]);
});

test('rows of many batches and row groups are complete and in order', async () => {
  const file = join(tempFolder(), 'many.parquet');
  const count = 70_001;
  const many = Array.from({ length: count }, (_, at) => row(`inv_${at}`, at, null, null, at % 2, '[]'));
  await writeParquet(file, rowSource(columns, many), idle);
  const footer = parquetFooter(file);
  expect([footer.rows, footer.groups, footer.columns[1]?.max]).toEqual([BigInt(count), 3, BigInt(count - 1)]);
  const sql = `SELECT count(*), sum(raised_cents), bool_and(raised_cents = file_row_number AND via_entity = (raised_cents % 2 = 1))
    FROM read_parquet(FILE, file_row_number = true)`;
  expect(askDuckDb(file, sql)).toEqual([[String(count), String((count * (count - 1)) / 2), true]]);
});

test('an export without rows is a Parquet file with columns', async () => {
  const file = join(tempFolder(), 'none.parquet');
  await writeParquet(file, rowSource(columns, []), idle);
  expect(parquetFooter(file)).toMatchObject({ rows: 0n, columns: columns.map(({ name }) => ({ name })) });
});

test.each([
  [
    'shares',
    row('a', 1, null, '1.0000000000001', 0, '[]'),
    'the value 1.0000000000001 of shares does not fit',
  ],
  ['shares', row('a', 1, null, `1${'0'.repeat(26)}`, 0, '[]'), 'does not fit DECIMAL(38,12)'],
  ['applied_at', row('a', 1, 'soon', null, 0, '[]'), 'the value soon of applied_at is not a time'],
])(
  'a value of %s that Parquet cannot store exactly fails the export and leaves no file',
  async (_, bad, message) => {
    const folder = tempFolder();
    const file = join(folder, 'out.parquet');
    writeFileSync(file, 'before');
    await expect(writeParquet(file, rowSource(columns, [bad]), idle)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(message),
      about: { hint: expect.stringContaining('--format csv') },
    });
    expect([readdirSync(folder), readFileSync(file, 'utf8')]).toEqual([['out.parquet'], 'before']);
  },
);

test('leading and trailing zeros do not count as digits of a decimal', async () => {
  const file = join(tempFolder(), 'out.parquet');
  const padded = [
    row('a', 1, null, `${'0'.repeat(30)}1.50${'0'.repeat(30)}`, 0, '[]'),
    row('b', 1, null, '0', 0, '[]'),
  ];
  await writeParquet(file, rowSource(columns, padded), idle);
  expect(askDuckDb(file, 'SELECT shares FROM read_parquet(FILE)')).toEqual([
    ['1.500000000000'],
    ['0.000000000000'],
  ]);
});

test('an aborted export, a wrong path, a missing folder and a missing writer are reported and leave no file', async () => {
  const folder = tempFolder();
  const file = join(folder, 'out.parquet');
  const stop = new AbortController();
  const endless = {
    columns,
    async *rows() {
      for (let at = 0; ; at += 1) {
        if (at === 5_000) stop.abort();
        yield row(`inv_${at}`, at, null, null, 0, '[]');
      }
    },
  };
  await expect(writeParquet(file, endless, stop.signal)).rejects.toMatchObject({ code: 'stopped' });
  const asked = join(folder, 'out?.parquet');
  await expect(writeParquet(asked, rowSource(columns, rows), idle)).rejects.toMatchObject({
    code: 'usage',
    message: `${asked} contains a question mark, which DuckDB cannot have in a path`,
  });
  const away = join(folder, 'no', 'out.parquet');
  await expect(writeParquet(away, rowSource(columns, rows), idle)).rejects.toMatchObject({
    code: 'usage',
    about: { hint: expect.stringContaining('an existing folder') },
  });
  const absent = async (): Promise<DuckDbPackage> => {
    throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  };
  await expect(writeParquet(file, rowSource(columns, rows), idle, absent)).rejects.toMatchObject({
    code: 'usage',
    about: { hint: expect.stringContaining('npm install @duckdb/node-api') },
  });
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ['is full', 'No space left on device', 'database_full', 'the disk is full: no file was written'],
  ['fails', 'Input/output error', 'database_busy', 'the disk failed (EIO): no file was written'],
])(
  'a disk that %s before the first row is reported as such, and leaves no file',
  async (_, cause, code, message) => {
    const folder = tempFolder();
    const full = async () => {
      const duckdb = await import('@duckdb/node-api');
      const create = async (file: string) => {
        throw new Error(`IO Error: Could not write file "${file}": ${cause}`);
      };
      return { ...duckdb, DuckDBInstance: { create } } as unknown as DuckDbPackage;
    };
    const written = writeParquet(join(folder, 'full.parquet'), rowSource(columns, rows), idle, full);
    await expect(written).rejects.toMatchObject({ code, message });
    expect(readdirSync(folder)).toEqual([]);
  },
);
