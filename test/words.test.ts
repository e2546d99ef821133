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

test('every test that ARCHITECTURE.md names exists under that title', () => {
  const text = readFileSync(join(packageRoot, 'ARCHITECTURE.md'), 'utf8');
  const cells = text.split('\n').filter((line) => /^\| P\d+ \|/.test(line));
  expect(cells).toHaveLength(15);
  for (const cell of cells) {
    for (const [, path = '', titles = ''] of cell.matchAll(/`(test\/[^`]+)`((?: (?:and )?"[^"]+")*)/g)) {
      const source = readFileSync(join(packageRoot, path), 'utf8');
      for (const [, title = ''] of titles.matchAll(/"([^"]+)"/g)) expect(source, path).toContain(title);
    }
  }
});
