import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../src/runtime/package-root.js';

/** What a recipe of docs/recipes.md needs beside rosterd. */
export const programs = ['duckdb', 'sqlite3', 'python', 'pandas', 'r', 'datasette'] as const;
export type Program = (typeof programs)[number];

export interface Recipe {
  readonly program: Program;
  /** The code of the page, unchanged. */
  readonly code: string;
}

/** By the info string of the code block, without the reason why the trial of the pages does not run it. */
const languages: Readonly<Record<string, Program>> = {
  'sql duckdb': 'duckdb',
  python: 'python',
  'python pandas': 'pandas',
  r: 'r',
};

/** Shell lines belong to the program that they begin with. */
const shellPrograms: readonly Program[] = ['sqlite3', 'datasette'];

/** Returns the recipes of a page, in its order. */
export function recipesOf(page: string): readonly Recipe[] {
  return blocksIn(page).flatMap(({ language, code }): Recipe[] => {
    const program =
      language === 'sh' ? shellPrograms.find((name) => code.startsWith(`${name} `)) : languages[language];
    return program === undefined ? [] : [{ program, code }];
  });
}

/** Returns the questions of the page with their statements for SQLite: the first block below each heading. */
export function queriesOf(page: string): readonly { readonly name: string; readonly sql: string }[] {
  const [, generated = ''] = page.split('<!-- generated: queries -->');
  return [...generated.matchAll(/^### (.+)\n[^`]*```sql\n([\s\S]*?)^```$/gm)].map(
    ([, name = '', sql = '']) => ({ name, sql: sql.trim() }),
  );
}

interface CodeBlock {
  readonly language: string;
  readonly code: string;
}

export function blocksIn(page: string): readonly CodeBlock[] {
  return [...page.matchAll(/^```(.+)\n([\s\S]*?)^```$/gm)].map(([, word = '', code = '']) => ({
    language: word.replace(/ no: .*/, ''),
    code,
  }));
}

export const recipesPage = (): string => readFileSync(join(packageRoot, 'docs', 'recipes.md'), 'utf8');
