import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { ComparedRelation } from './compared-relations.js';
import { type Ended, runProgram } from './run-program.js';

export type AskMirror = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

export interface Comparison {
  /** Rows that both mirrors have, with the same values. */
  readonly same: number;
  /** What is not the same, one line for each statement that would make it so. */
  readonly differences: readonly string[];
}

/**
 * Compares what a mirror that has lived shows with a mirror listed afresh, with SQLite's program `sqldiff`. Row
 * numbers and the two databases differ, so the compared columns of both are first written to files, each row under a
 * key of its own. `folder` must exist.
 */
export async function compareBySqldiff(
  program: string,
  folder: string,
  relations: readonly ComparedRelation[],
  mirrors: { readonly lived: AskMirror; readonly fresh: AskMirror },
): Promise<Comparison> {
  const [lived, fresh] = [join(folder, 'lived.compared'), join(folder, 'fresh.compared')];
  try {
    await writeCompared(lived, relations, mirrors.lived);
    await writeCompared(fresh, relations, mirrors.fresh);
    const summary = await runProgram(program, ['--primarykey', '--summary', lived, fresh]);
    const statements = await runProgram(program, ['--primarykey', lived, fresh]);
    return comparisonOf(summary, statements);
  } finally {
    for (const file of [lived, fresh]) rmSync(file, { force: true });
  }
}

/** Writes the compared relations of a mirror to a new file. Throws when two rows have the same key. */
export async function writeCompared(
  file: string,
  relations: readonly ComparedRelation[],
  ask: AskMirror,
): Promise<void> {
  rmSync(file, { force: true });
  const database = new Sqlite(file);
  try {
    for (const { name, key, columns } of relations) {
      // Columns without a type keep what they are given, so 1 and '1' are not the same.
      database.exec(`CREATE TABLE ${name} (row_key TEXT PRIMARY KEY, ${columns.join(', ')})`);
      const insert = database.prepare(`INSERT INTO ${name} VALUES (?${', ?'.repeat(columns.length)})`);
      for (const row of await ask(`SELECT ${columns.join(', ')} FROM ${name}`))
        insert.run(
          JSON.stringify(key.map((column) => row[column])),
          ...columns.map((column) => stored(row[column])),
        );
    }
  } finally {
    database.close();
  }
}

/** A whole number would be stored as one with a fraction. */
function stored(value: unknown): unknown {
  return Number.isSafeInteger(value) ? BigInt(value as number) : (value ?? null);
}

/** Reads the outputs of `sqldiff --summary` and `sqldiff`. Throws when one of them failed. */
export function comparisonOf(summary: Ended, statements: Ended): Comparison {
  for (const { code, err } of [summary, statements])
    if (code !== 0) throw new Error(`sqldiff exits with ${code}: ${err.trim()}`);
  const counts = [
    ...summary.out.matchAll(/^(\w+): (\d+) changes, (\d+) inserts, (\d+) deletes, (\d+) unchanged$/gm),
  ];
  const same = counts.reduce((sum, [, , , , , unchanged]) => sum + Number(unchanged), 0);
  const wrong = counts.filter(([, , ...kinds]) => kinds.slice(0, 3).some((count) => count !== '0'));
  const lines = statements.out.split('\n').filter((line) => line !== '');
  if (wrong.length === 0 && lines.length === 0) return { same, differences: [] };
  return { same, differences: [...wrong.map(([line]) => line), ...lines] };
}
