import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { tempFolder } from '../../store/temp-folder.js';
import { growthTable } from './growth-table.js';
import { huge, sizesOf } from './huge.js';
import { sqliteFile } from './mirror.js';
import { needsOf, refusalOf } from './needs.js';
import { optionalSteps } from './steps.js';

test('the needs of a large mirror grow with records and versions, and too small a disk is refused in a sentence', () => {
  const amount = { records: 1_000_000, versions: 5_000_000, companies: 200, databases: ['sqlite'] } as const;
  const needs = needsOf(amount);
  expect(needsOf({ ...amount, records: 2_000_000 }).diskBytes).toBeGreaterThan(needs.diskBytes);
  expect(needsOf({ ...amount, versions: 6_000_000 }).diskBytes).toBeGreaterThan(needs.diskBytes);
  expect(refusalOf(needs, needs.diskBytes, '/data')).toBeNull();
  expect(refusalOf(needs, 1e9, '/data')).toBe(
    `/data has 1.0 GB free and this run needs ${(needs.diskBytes / 1e9).toFixed(1)} GB; choose fewer --records or ` +
      '--versions, one --database, --without upgrade, or another disk with --keep DIR',
  );
  // The upgrade copies the file twice.
  const without = ['upgrade'];
  expect(needsOf({ ...amount, without }).diskBytes).toBe(needs.diskBytes / 2);
  expect(refusalOf(needs, 1e9, '/data', without)).toContain('--versions, one --database, or another disk');
});

test('the sizes of a large run grow tenfold, and a figure is printed beside its growth', () => {
  expect(sizesOf({ records: 10_000_000, sizes: 3 })).toEqual([100_000, 1_000_000, 10_000_000]);
  expect(sizesOf({ records: 2_000, sizes: 3 })).toEqual([2_000]);
  const figure = { database: 'sqlite', step: 'tick', done: 'ticks', cost: null };
  const table = growthTable([
    { ...figure, records: 1_000, seconds: 0.004 },
    { ...figure, records: 10_000, seconds: 0.006 },
  ]);
  expect(table).toContain('| 1,000 | 10,000 | grown, records 10 × |');
  expect(table).toContain('| tick | time | 4 ms | 6 ms | 1.5 × |');
});

test('every step of a large run works on SQLite, with the versions that ticks would have left, and an ended run goes on', async () => {
  const keep = tempFolder();
  const said: string[] = [];
  const run = () =>
    huge({
      ...{ records: 1_200, versions: 2_400, companies: 3, databases: ['sqlite'], keep, apart: false },
      ...{ postgres: null, sizes: 1, turns: 2, say: (line: string) => said.push(line) },
    });
  const table = await run();
  for (const step of ['first listing', 'verify --full', 'export Parquet', 'roster page, newest', 'as-of'])
    expect(table).toContain(`| ${step} | time |`);
  const raw = new Sqlite(join(keep, '1200', sqliteFile), { readonly: true });
  const one = (sql: string) => raw.prepare(sql).pluck().get();
  // Two ticks and two warm-up ticks changed a record each, and one was withdrawn.
  expect(one('SELECT count(*) FROM history_rows')).toBe(2 * 1_200 + 4 + 1);
  // Every version has the change that made it, and ends where the next one begins.
  expect(
    one(`SELECT count(*) FROM history_rows h JOIN sources s ON s.no = h.source_no WHERE NOT EXISTS (
      SELECT 1 FROM change_rows c WHERE c.seq = h.change_seq AND (c.id = h.id OR c.seq = s.listed_seq))`),
  ).toBe(0);
  expect(
    one(`SELECT count(*) FROM history_rows h WHERE ended_by = 'update' AND NOT EXISTS (
      SELECT 1 FROM history_rows n WHERE n.id = h.id AND n.source_no = h.source_no AND n.valid_from = h.valid_to
      UNION ALL
      SELECT 1 FROM investment_rows r WHERE r.id = h.id AND r.source_no = h.source_no AND r.valid_from = h.valid_to)`),
  ).toBe(0);
  raw.close();
  const ledger = join(keep, '1200', 'figures.jsonl');
  const lines = readFileSync(ledger, 'utf8').split('\n');
  const end = lines.findIndex((line) => line.includes('"done":"verify --full"'));
  writeFileSync(ledger, `${lines.slice(0, end).join('\n')}\n`);
  said.length = 0;
  const steps = (text: string) => text.match(/^\| [^|]+ \| time/gm);
  expect(steps(await run())).toEqual(steps(table));
  expect(said.find((line) => line.includes(' on sqlite: '))).toContain('verify --full');
}, 60_000);

test('a large run leaves out the steps that it is told to', async () => {
  const said: string[] = [];
  const without = optionalSteps.filter((name) => name !== 'ticks');
  const table = await huge({
    ...{ records: 1_000, versions: 1_000, companies: 2, databases: ['sqlite'], without, keep: null },
    ...{ apart: false, postgres: null, sizes: 1, turns: 2, say: (line: string) => said.push(line) },
  });
  const steps = said.flatMap((line) => / on sqlite: (.+), load/.exec(line)?.[1] ?? []);
  expect(steps).toEqual(['first listing', 'versions written', 'ticks']);
  expect(table).not.toContain('verify --full');
}, 60_000);
