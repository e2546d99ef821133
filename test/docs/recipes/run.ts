import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../../src/domain/defined.js';
import { askDuckDb } from '../../exports/ask-duckdb.js';
import type { DemoMirror } from './demo-mirror.js';
import type { Program, Recipe } from './page.js';

/** A program that is installed, and its version. */
export interface Found {
  readonly command: string;
  readonly version: string;
}

interface Tried {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function tried(command: string, args: readonly string[], cwd?: string): Tried {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...defined({ cwd }),
    encoding: 'utf8',
    timeout: 120_000,
    env: { ...process.env, TZ: 'UTC', LC_ALL: 'C.UTF-8' },
  });
  return { code: status, out: stdout ?? '', err: `${stderr ?? ''}${error?.message ?? ''}` };
}

/** What tells whether a program is installed, with its version on stdout. Debian's Python may be beside another one. */
const probes: Readonly<Record<Program, readonly (readonly string[])[]>> = {
  duckdb: [
    [
      process.execPath,
      '--input-type=module',
      '-e',
      "const { version } = await import('@duckdb/node-api'); console.log(version())",
    ],
  ],
  sqlite3: [['sqlite3', ':memory:', 'SELECT sqlite_version()']],
  python: ['python3', '/usr/bin/python3'].map((python) => [
    python,
    '-c',
    'import platform, sqlite3; print(platform.python_version(), "with SQLite", sqlite3.sqlite_version)',
  ]),
  pandas: ['python3', '/usr/bin/python3'].map((python) => [
    python,
    '-c',
    'import pandas; print(pandas.__version__)',
  ]),
  r: [
    [
      'Rscript',
      '-e',
      'library(DBI); library(bit64, warn.conflicts = FALSE); cat(R.version$major, ".", R.version$minor, " with RSQLite ", as.character(packageVersion("RSQLite")), sep = "")',
    ],
  ],
  datasette: [['datasette', '--version']],
};

export function findProgram(program: Program): Found | null {
  for (const [command = '', ...args] of probes[program]) {
    const { code, out } = tried(command, args);
    if (code === 0) return { command, version: out.trim().split('\n').at(-1)?.slice(0, 40) ?? '' };
  }
  return null;
}

/** Runs a recipe as the page has it. Returns why its result is wrong, or null. */
export function runRecipe({ program, code }: Recipe, { command }: Found, demo: DemoMirror): string | null {
  const { folder } = demo;
  switch (program) {
    case 'duckdb':
      return wrongTotals(
        JSON.stringify(
          askDuckDb(join(folder, 'investments.parquet'), code.replace("'investments.parquet'", 'FILE')),
        ),
        demo,
        ({ raised_cents }) => `"${raised_cents}"`,
      );
    case 'sqlite3':
      return failure(tried('bash', ['-c', code], folder), [String(demo.rows), 'following the feed']);
    case 'python':
      return wrongTotals(
        tried(command, ['-c', code], folder),
        demo,
        (cents) => `${cents.raised_cents / 100}`,
      );
    case 'pandas':
      return wrongTotals(tried(command, ['-c', code], folder), demo, ({ raised_cents }) => `${raised_cents}`);
    case 'r':
      return failure(tried(command, ['-e', code], folder), [
        demo.firstDay.day,
        String(demo.firstDay.raised_cents),
      ]);
    case 'datasette':
      // Answers one request instead of serving.
      return failure(
        tried('bash', ['-c', `${code.trim()} --get '/mirror/sync_status.json?_shape=array'`], folder),
        ['"acme"'],
      );
  }
}

function wrongTotals(
  result: Tried | string,
  { totals }: DemoMirror,
  shown: (total: DemoMirror['totals'][number]) => string,
): string | null {
  const { code, out, err } = typeof result === 'string' ? { code: 0, out: result, err: '' } : result;
  return failure({ code, out, err }, totals.map(shown));
}

function failure({ code, out, err }: Tried, expected: readonly string[]): string | null {
  if (code !== 0) return `ended with ${code}: ${err.trim().slice(0, 1_000)}`;
  const missing = expected.filter((text) => !out.includes(text));
  return missing.length === 0 ? null : `does not show ${missing.join(', ')}: ${out.slice(0, 1_000)}`;
}

/** Programs that read the file itself, so that every statement of the page has to work in them. */
export const sqlPrograms: readonly Program[] = ['sqlite3', 'python', 'pandas', 'r'];

/** Runs a statement of the page in a program. Returns why it failed, or null. */
export function runQueryIn(
  program: Program,
  { command }: Found,
  sql: string,
  demo: DemoMirror,
): string | null {
  const { folder } = demo;
  mkdirSync(join(folder, 'asked'), { recursive: true });
  const file = join(folder, 'asked', 'query.sql');
  writeFileSync(file, sql);
  const database = 'data/mirror.db';
  const scripts: Partial<Record<Program, readonly string[]>> = {
    sqlite3: [`file:${database}?mode=ro`, sql],
    python: [
      '-c',
      `import sqlite3; print(len(sqlite3.connect("file:${database}?mode=ro", uri=True).execute(open("${file}").read()).fetchall()))`,
    ],
    pandas: [
      '-c',
      `import pandas, sqlite3; print(len(pandas.read_sql_query(open("${file}").read(), sqlite3.connect("file:${database}?mode=ro", uri=True))))`,
    ],
    r: [
      '-e',
      `mirror <- DBI::dbConnect(RSQLite::SQLite(), "${database}", flags = RSQLite::SQLITE_RO, bigint = "integer64", synchronous = NULL); cat(nrow(DBI::dbGetQuery(mirror, paste(readLines("${file}"), collapse = "\\n"))))`,
    ],
  };
  return failure(tried(command, scripts[program] ?? [], folder), []);
}
