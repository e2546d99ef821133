import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { demoQueries } from '../src/cli/commands/demo.js';
import { commands } from '../src/cli/commands/index.js';
import { packageRoot } from '../src/runtime/package-root.js';
import { generatedFiles } from './tools/generated.js';

const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8');

test.each([...generatedFiles()])('%s says what the code says (npm run generate)', (path, text) => {
  expect(readFileSync(join(packageRoot, path), 'utf8')).toBe(text);
});

test('the first three queries of the README are those the demonstration prints', () => {
  for (const sql of demoQueries) expect(readme).toContain(`npx rosterd query "${sql}"`);
});

test('every command the README types exists', () => {
  const names = commands.map(({ name }) => name);
  const typed = [...readme.matchAll(/npx rosterd ([a-z]+(?: [a-z]+)?)/g)].map(([, words = '']) => words);
  expect(typed.length).toBeGreaterThan(5);
  expect(
    typed.filter((words) => !names.includes(words) && !names.includes(words.split(' ')[0] ?? '')),
  ).toEqual([]);
});
