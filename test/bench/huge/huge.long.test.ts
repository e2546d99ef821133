import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from '../../postgres/fresh-database.js';
import { withClient } from '../../postgres/run-databases.js';
import { tempFolder } from '../../store/temp-folder.js';
import { startCompanies } from './companies-feed.js';
import { growthTable } from './growth-table.js';
import { huge, sizesOf } from './huge.js';
import { sqliteFile, tokensOf } from './mirror.js';
import { needsOf, refusalOf } from './needs.js';
import { here } from './runner.js';
import { optionalSteps, postgresSteps } from './steps.js';

test('the needs of a large mirror grow with records and versions, and too small a disk is refused in a sentence', () => {
  const amount = { records: 1_000_000, versions: 5_000_000, companies: 200, databases: ['sqlite'] } as const;
  const needs = needsOf(amount);
  expect(needsOf({ ...amount, records: 2_000_000 }).diskBytes).toBeGreaterThan(needs.diskBytes);
  expect(needsOf({ ...amount, versions: 6_000_000 }).diskBytes).toBeGreaterThan(needs.diskBytes);
  expect(refusalOf(needs, needs.diskBytes, '/data', amount)).toBeNull();
  expect(refusalOf(needs, 1e9, '/data', amount)).toBe(
    `/data has 1.0 GB free and this run needs ${(needs.diskBytes / 1e9).toFixed(1)} GB; choose fewer --records or ` +
      '--versions, one --database, --without upgrade, or another disk with --keep DIR',
  );
  // The upgrade copies the file twice.
  const without = ['upgrade'];
  expect(needsOf({ ...amount, without }).diskBytes).toBe(needs.diskBytes / 2);
  expect(refusalOf(needs, 1e9, '/data', { ...amount, without })).toContain(
    '--versions, one --database, or another disk',
  );
  const postgres = { ...amount, databases: ['postgres'] } as const;
  expect(refusalOf(needsOf(postgres), 1e9, '/data', postgres)).toContain(
    'one --database, --without migrate, or',
  );
  expect(needsOf({ ...postgres, without: ['migrate'] }).diskBytes).toBeLessThan(needsOf(postgres).diskBytes);
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

test('a mirror that is listed on PostgreSQL gets the versions that ticks would have left, without a SQLite file', async () => {
  const database = await freshDatabase();
  const folder = tempFolder();
  const companies = 3;
  const feed = await startCompanies(1_200, companies, false, 0);
  onTestFinished(() => feed.close());
  const context = {
    runner: here({ cwd: folder, env: tokensOf(companies), folders: [], server: null }),
    place: { folder, feedUrl: feed.url, companies, database: database.url },
    ...{ database: 'postgres', records: 1_200, versionsEach: 2, turns: 2, size: async () => 0 },
  };
  const steps = postgresSteps(['migrate'])[0]?.slice(0, 3) ?? [];
  expect(steps.map(({ name }) => name)).toEqual(['first listing', 'versions written', 'ticks']);
  const indexes = () =>
    withClient(database.url, async (client) => {
      const { rows } = await client.query(
        `SELECT indexname FROM pg_indexes
         WHERE tablename IN ('investment_rows', 'history_rows', 'change_rows') ORDER BY 1`,
      );
      return rows;
    });
  const [listing, ...later] = steps;
  await listing?.run(context);
  const indexed = await indexes();
  for (const step of later) await step.run(context);
  // Dropped while the rows were written.
  expect(await indexes()).toEqual(indexed);
  await withClient(database.url, async (client) => {
    const one = async (sql: string) =>
      Object.values((await client.query<Record<string, string>>(sql)).rows[0] ?? {})[0];
    // Two ticks and two warm-up ticks changed a record each.
    expect(Number(await one('SELECT count(*) FROM history_rows'))).toBe(2 * 1_200 + 4);
    // Each version begins with a change and where the one before it ended, and change numbers have no holes.
    expect(
      await one(`SELECT count(*) FROM history_rows h JOIN sources s ON s.no = h.source_no WHERE NOT EXISTS (
        SELECT FROM change_rows c WHERE c.seq = h.change_seq AND (c.id = h.id OR c.seq = s.listed_seq))`),
    ).toBe('0');
    expect(
      await one(`SELECT count(*) FROM history_rows h WHERE NOT EXISTS (
        SELECT FROM history_rows n WHERE n.id = h.id AND n.source_no = h.source_no AND n.valid_from = h.valid_to
        UNION ALL
        SELECT FROM investment_rows r WHERE r.id = h.id AND r.source_no = h.source_no AND r.valid_from = h.valid_to)`),
    ).toBe('0');
    expect(
      await one(`SELECT count(*) FROM change_rows c JOIN history_rows h ON h.id = c.id AND h.change_seq = c.seq
        WHERE c.at <> h.valid_from`),
    ).toBe('0');
    expect(await one('SELECT max(seq) - count(*) FROM change_rows')).toBe('0');
    expect(await one('SELECT max(seq) - (SELECT last_seq FROM feed_counter) FROM change_rows')).toBe('0');
  });
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
});

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
});
