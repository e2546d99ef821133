import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { migrateSqlite } from '../../src/store/dialect/sqlite/migrate.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import { fakeIo, rosterd } from '../cli/fake-io.js';
import { askDuckDb } from '../exports/ask-duckdb.js';
import { StandingClock, seedInvestment, seedSource } from '../store/support/mirror.js';
import { blocksIn, programs, queriesOf, recipesOf, recipesPage } from './recipes/page.js';
import { report } from './recipes/report.js';
import { runRecipe } from './recipes/run.js';

const page = recipesPage();

/** Returns the code blocks of the page with this info string. */
const blocks = (wanted: string): readonly string[] =>
  blocksIn(page)
    .filter(({ language }) => language === wanted)
    .map(({ code }) => code);

const [sqliteLine = '', exportLine = ''] = blocks('sh');
const [script = ''] = blocks('python');
const [parquetQuery = ''] = blocks('sql duckdb');

let folder: string;
let file: string;
let writer: SqliteDatabase | null = null;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rosterd-recipes-'));
  file = join(folder, 'data', 'mirror.db');
  mkdirSync(dirname(file));
});
afterAll(() => {
  writer?.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(program: string, args: readonly string[]): { code: number | null; out: string; err: string } {
  // A locale of the caller that this machine lacks would make bash warn.
  const env = { ...process.env, LC_ALL: 'C' };
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, env, encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
}
const python = (code: string) => run('python3', ['-c', code]);
const rows = (line: string) => line.split('\n').filter((text) => text !== '');

test('the recipes page has exactly the recipes this file runs', () => {
  expect(sqliteLine).toContain('file:data/mirror.db?mode=ro');
  expect(exportLine).toContain('--format parquet');
  expect(script).toContain('mode=ro');
  expect(parquetQuery).toContain('read_parquet');
});

test('npm run test:recipes finds a recipe of each program, and the sixteen queries, on the page', () => {
  expect(new Set(recipesOf(page).map(({ program }) => program))).toEqual(new Set(programs));
  const names = queriesOf(page).map(({ name }) => name);
  expect([names.length, names[0], names.at(-1)]).toEqual([16, 'freshness', 'roster-page']);
  expect(queriesOf(page).every(({ sql }) => /^(?:SELECT|WITH)\b/.test(sql))).toBe(true);
});

test('npm run test:recipes reports a missing program, and fails only for a required one or a wrong result', () => {
  const r = { program: 'r', found: null, ran: 0, wrong: [] };
  const python = { program: 'python', found: { command: 'python3', version: '3.11' }, ran: 17, wrong: [] };
  expect(report([python, r], [])).toEqual({
    lines: ['python 3.11: 17 of 17 ran as the page says', 'r: not installed'],
    failed: false,
  });
  expect(report([r], ['r'])).toEqual({ lines: ['r: not installed, but required'], failed: true });
  expect(report([{ ...python, wrong: ['as-of: ended with 1'] }], [])).toEqual({
    lines: ['python 3.11: 16 of 17 ran as the page says', '  as-of: ended with 1'],
    failed: true,
  });
});

test('npm run test:recipes notices a recipe that fails, or that shows other numbers than the mirror', () => {
  const demo = {
    folder,
    rows: 2,
    totals: [{ status: 'active', currency: 'usd', raised_cents: 150 }],
    firstDay: { day: '2026-10-10', raised_cents: 150 },
    close: () => {},
  };
  const python = { command: 'python3', version: '3.11' };
  const tried = (code: string) => runRecipe({ program: 'python', code }, python, demo);
  expect(tried('print("active usd", 1.5)')).toBe(null);
  expect(tried('print("active usd", 1.25)')).toMatch(/^does not show 1.5: active usd 1.25/);
  expect(tried('raise SystemExit("no mirror")')).toBe('ended with 1: no mirror');
});

/** Commits a second row after the checkpoint, so that only the WAL contains it while a writer has the file open. */
function startWriting(): SqliteDatabase {
  const database = openSqlite(file);
  if (migrateSqlite(database, { clock: new StandingClock(), version: '0.0.0-test' }).ran.length > 0) {
    seedSource(database, 1, { name: 'acme', rows_held: 2, last_outcome: 'done' });
    seedInvestment(database, 1, 'inv_1', { raised_cents: 150 });
    database.raw.pragma('wal_checkpoint(TRUNCATE)');
    seedInvestment(database, 1, 'inv_2', { raised_cents: 9_007_199_254_740_000 });
  }
  return database;
}

const insertion = "INSERT INTO forgotten (id, forgotten_at) VALUES ('usr_1', '2026-10-20T12:00:00.000Z')";

describe.each(['while the daemon runs', 'while it is stopped'])('recipe %s', (when) => {
  beforeAll(() => {
    writer ??= startWriting();
    if (when === 'while the daemon runs') return;
    writer.close();
    writer = null;
  });

  test('sqlite3 and Python read all committed rows when they open the mirror as the page says', () => {
    const shell = run('bash', ['-c', sqliteLine]);
    expect(shell).toMatchObject({ code: 0, err: '' });
    expect(rows(shell.out).at(-1)).toMatch(/^acme +2 +following the feed *$/);
    const { code, out, err } = python(script);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe('active usd 90071992547401.5\n');
  });

  test('neither sqlite3 nor Python can write', () => {
    const shell = run('sqlite3', ['file:data/mirror.db?mode=ro', insertion]);
    expect(shell.code).not.toBe(0);
    expect(shell.err).toContain('readonly database');
    const opened = 'import sqlite3; sqlite3.connect("file:data/mirror.db?mode=ro", uri=True)';
    const { code, err } = python(`${opened}.execute("${insertion}")`);
    expect(code).not.toBe(0);
    expect(err).toContain('readonly database');
  });

  test('the Parquet file that DuckDB reads has the sums of the mirror', async () => {
    const args = exportLine
      .trim()
      .replace(/^npx rosterd /, '')
      .split(' ');
    // The recipe is tried beside a running daemon and without one, and an export does not overwrite.
    rmSync(join(folder, 'investments.parquet'), { force: true });
    expect((await rosterd(args, fakeIo({ cwd: folder, clock: systemClock }))).code).toBe(0);
    const sql = parquetQuery.replace("'investments.parquet'", 'FILE');
    expect(askDuckDb(join(folder, 'investments.parquet'), sql)).toEqual([
      ['active', 'usd', '2', '9007199254740150'],
    ]);
  });
});

test('immutable misses rows that a running daemon has committed, as the page warns', () => {
  const database = startWriting();
  database.raw.exec("UPDATE sources SET name = 'renamed'");
  const line = (mode: string) =>
    run('sqlite3', [`file:data/mirror.db?${mode}`, 'SELECT name FROM sources']).out.trim();
  expect([line('mode=ro'), line('mode=ro&immutable=1')]).toEqual(['renamed', 'acme']);
  database.close();
  expect(line('mode=ro&immutable=1')).toBe('renamed');
});

if (process.getuid?.() === 0)
  test('another user can read through a group as the page says, with and without the -wal and -shm files', () => {
    const shared = mkdtempSync(join(tmpdir(), 'rosterd-shared-'));
    const moved = join(shared, 'mirror.db');
    renameSync(file, moved);
    const open = (uri: string, group = 65_534) =>
      python(
        `import os, sqlite3; os.setgroups([]); os.setgid(${group}); os.setuid(65534); print(sqlite3.connect("file:${moved}?${uri}", uri=True).execute("SELECT count(*) FROM investments").fetchone()[0])`,
      );
    const database = openSqlite(moved);
    database.raw.exec("UPDATE sources SET name = 'acme'");
    run('bash', [
      '-c',
      `chgrp 65534 "${shared}" "${moved}"* && chmod 2750 "${shared}" && chmod 644 "${moved}"*`,
    ]);
    expect(open('mode=ro').out).toBe('2\n');
    database.close();
    openSqlite(moved).close();
    expect(open('mode=ro').out).toBe('2\n');
    expect(open('mode=ro', 65_533).err).toContain('unable to open database file');
    for (const end of ['-wal', '-shm']) rmSync(`${moved}${end}`);
    expect(open('mode=ro').err).toContain('attempt to write a readonly database');
    expect(open('mode=ro&immutable=1').out).toBe('2\n');
    rmSync(shared, { recursive: true, force: true });
  });
