import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { equivalentMutants } from './equivalent.js';
import { mirrorTargets } from './mirror-targets.js';
import { mutantsOf, mutated } from './mutants.js';
import { platformTargets } from './platform-targets.js';
import { postgresTargets } from './postgres-targets.js';

const textOf = (file: string): string => readFileSync(join(packageRoot, file), 'utf8');
const changesOf = (text: string): string[] => mutantsOf('a.ts', text).map((mutant) => mutated(text, mutant));

test('a mutant changes one comparison, condition, throw, number or word of SQL', () => {
  expect(changesOf('const a = b <= c;')).toEqual(['const a = b < c;']);
  expect(changesOf('const a = b && !c;')).toEqual(['const a = b || !c;', 'const a = b && c;']);
  expect(changesOf('if (a) throw b;')).toEqual(['if (true) throw b;', 'if (false) throw b;', 'if (a) ;']);
  expect(changesOf('const a = 15 * 1;')).toEqual(['const a = 16 * 1;']);
  const sql = 'run(`SELECT a FROM b WHERE c IS NULL AND d <= ?`);';
  expect(changesOf(sql)).toEqual([
    sql.replace('IS NULL', 'IS NOT NULL'),
    sql.replace('AND', 'OR'),
    sql.replace('<=', '<'),
  ]);
  expect(changesOf('const a = `b AND c`;')).toEqual([]);
});

test('every target of the mutation run exists with its tests, and there are at least 300 mutants', () => {
  const targets = [...mirrorTargets, ...postgresTargets, ...platformTargets];
  const mutants = targets.flatMap(({ file }) => mutantsOf(file, textOf(file)));
  expect(mutants.length).toBeGreaterThanOrEqual(300);
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  for (const { tests } of targets)
    for (const file of tests) expect(existsSync(join(packageRoot, file)), file).toBe(true);
  const names = new Set(mutants.map(({ name }) => name));
  expect(Object.keys(equivalentMutants).filter((name) => !names.has(name))).toEqual([]);
});
