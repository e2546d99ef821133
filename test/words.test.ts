import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { demoQueries } from '../src/cli/commands/demo.js';
import { allCommands } from '../src/cli/commands-for.js';
import { packageRoot } from '../src/runtime/package-root.js';
import { nodesOf, stringOf, syntaxOf } from './support/syntax.js';
import { generatedFiles } from './tools/generated.js';

const commands = await allCommands();

const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8');

test.each([...generatedFiles()])('the generated file %s is up to date (npm run generate)', (path, text) => {
  expect(readFileSync(join(packageRoot, path), 'utf8')).toBe(text);
});

test('the README shows the first three queries that the demonstration prints', () => {
  for (const sql of demoQueries) expect(readme).toContain(`npx rosterd query "${sql}"`);
});

/** Pages for readers, alert rules and service files. */
const pages = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...['docs', 'packaging'].flatMap((folder) =>
    readdirSync(join(packageRoot, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(packageRoot, join(entry.parentPath, entry.name))),
  ),
];

test('every command that a page or an alert names exists, with its flags', () => {
  const typed = pages.flatMap((path) =>
    commandsOnPage(readFileSync(join(packageRoot, path), 'utf8')).map((line) => ({ path, line })),
  );
  expect(typed.length).toBeGreaterThan(60);
  const from = new Set(typed.map(({ path }) => path));
  for (const path of ['README.md', 'docs/operating.md', 'packaging/prometheus/alerts.yml'])
    expect([...from]).toContain(path);
  expect(typed.flatMap(({ path, line }) => mistakesIn(line).map((mistake) => `${path}: ${mistake}`))).toEqual(
    [],
  );
});

test('every command that an error, a hint or an example names exists, with its flags', () => {
  const typed = sourceTexts().flatMap(({ path, text }) => commandsIn(text).map((line) => ({ path, line })));
  expect(typed.length).toBeGreaterThan(120);
  expect(typed.flatMap(({ path, line }) => mistakesIn(line).map((mistake) => `${path}: ${mistake}`))).toEqual(
    [],
  );
});

test('commandsIn finds commands in texts, and mistakesIn finds unknown commands and flags', () => {
  expect(
    commandsIn('Try: rosterd sync --resync, or `rosterd conect --all`; rosterd writes on (rosterd run)'),
  ).toEqual(['rosterd sync --resync, or ', 'rosterd conect --all', 'rosterd run']);
  expect(mistakesIn('rosterd conect --all')).toEqual(['rosterd conect is no command']);
  expect(mistakesIn('rosterd config shwo')).toEqual(['rosterd config shwo is no command']);
  expect(mistakesIn('rosterd endpoints list --jsn')).toEqual(['rosterd endpoints list has no --jsn']);
  expect(mistakesIn('rosterd sync --source acme --resync --log-level debug')).toEqual([]);
});

/** Returns every string of the source code; template placeholders become `X`. */
function sourceTexts(): { path: string; text: string }[] {
  const found: { path: string; text: string }[] = [];
  const files = readdirSync(join(packageRoot, 'src'), { recursive: true, encoding: 'utf8' });
  for (const path of files.filter((name) => name.endsWith('.ts'))) {
    const code = readFileSync(join(packageRoot, 'src', path), 'utf8');
    if (!code.includes('rosterd ')) continue;
    for (const node of nodesOf(syntaxOf(path, code).root)) {
      const text = stringOf(node);
      if (text !== undefined) found.push({ path, text });
      else if (node.type === 'TemplateLiteral')
        found.push({ path, text: node.quasis.map(({ value }) => value.cooked ?? '').join('X') });
    }
  }
  return found;
}

/** Returns the commands in a text: at its start, after a colon, in backticks or brackets. Elsewhere `rosterd` is a name. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/(?:^|[`(]|: |, |; )(rosterd [a-z][^`()|;]*)/g)]
    .map(([, line = '']) => line)
    .filter((line) => !ourName.test(line));
}

/** Returns the commands on a page: in backquotes, at the start of a line of a block, or in an alert or a service file. */
function commandsOnPage(text: string): string[] {
  const [blocks, prose] = [/^```[\s\S]*?^```$/gm, text.replaceAll(/^```[\s\S]*?^```$/gm, '')];
  const inBlocks = [...text.matchAll(blocks)].flatMap(([block]) => [
    ...block.matchAll(/(?:^|[(;=/] ?)(?:npx )?(rosterd [a-z][^|;>#)\n]*)/gm),
  ]);
  const inProse = [
    ...prose.matchAll(/`(?:npx )?(rosterd [a-z][^`]*)`/g),
    ...prose.matchAll(/(?:action: |action: .*; |ExecStart=\S*\/)(rosterd [a-z][^;\n]*)/g),
  ];
  return [...inBlocks, ...inProse]
    .map(([, line = '']) => line.replaceAll(/\s+/g, ' '))
    .filter((line) => !ourName.test(line));
}

/** Sentences that begin with the name rosterd. */
const ourName = /^rosterd (?:met|configuration|writes|has|demo may|holds|goes|keeps|does|as a)\b/;

function mistakesIn(line: string): string[] {
  const [, first = '', second = ''] = /^rosterd (?:help )?([a-z][a-z-]*)(?: ([a-z]+))?/.exec(line) ?? [];
  if (first === 'help' && second === '') return [];
  const command =
    commands.find(({ name }) => name === `${first} ${second}`) ?? commands.find(({ name }) => name === first);
  if (command === undefined) {
    const whole = commands.some(({ name }) => name.startsWith(`${first} `));
    // A group without a command means all its commands.
    if (whole && second === '') return [];
    return [`rosterd ${first}${whole ? ` ${second}` : ''} is no command`];
  }
  const known = [
    ...(command.options ?? []).map(({ flags }) => flags),
    '--log-level',
    '--log-format',
    '--help',
  ];
  return [...line.matchAll(/(?<=\s)--[a-z][a-z-]*/g)]
    .filter(([flag]) => !known.some((flags) => flags.split(/[ ,]+/).includes(flag)))
    .map(([flag]) => `rosterd ${command.name} has no ${flag}`);
}

test('ARCHITECTURE.md can be read in fifteen minutes', () => {
  const words = readFileSync(join(packageRoot, 'ARCHITECTURE.md'), 'utf8').split(/\s+/);
  // 240 words a minute. What is longer belongs into a page of docs/design.
  expect(words.length).toBeLessThan(15 * 240);
});

/** The pages that explain the design, the overview first. */
const designPages = ['ARCHITECTURE.md', ...pages.filter((page) => page.startsWith('docs/design/'))];

test('docs/design/promises.md names only tests that exist under the quoted title', () => {
  const text = readFileSync(join(packageRoot, 'docs/design/promises.md'), 'utf8');
  const cells = text.split('\n').filter((line) => /^\| P\d+ \|/.test(line));
  expect(cells).toHaveLength(15);
  for (const cell of cells) {
    for (const [, path = '', titles = ''] of cell.matchAll(/`(test\/[^`]+)`((?: (?:and )?"[^"]+")*)/g)) {
      const source = readFileSync(join(packageRoot, path), 'utf8');
      for (const [, title = ''] of titles.matchAll(/"([^"]+)"/g)) expect(source, path).toContain(title);
    }
  }
});

test('pages about the code name only files that exist', () => {
  const files = ['.ci', 'src', 'schema', 'test', 'packaging']
    .flatMap((folder) =>
      readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
        join(folder, path),
      ),
    )
    .concat(readdirSync(packageRoot));
  const exists = (name: string) => files.some((path) => path === name || path.endsWith(`/${name}`));
  const evidence = pages.filter((page) => page.startsWith('docs/evidence'));
  expect(evidence.length).toBeGreaterThan(5);
  expect(designPages.length).toBeGreaterThan(5);
  const named = [...designPages, 'CONTRIBUTING.md', 'SECURITY.md', ...evidence].flatMap((page) =>
    [...readFileSync(join(packageRoot, page), 'utf8').matchAll(/`([\w./*-]+\.(?:ts|sql|mjs))`/g)].map(
      ([, name = '']) => ({ page, name }),
    ),
  );
  expect(named.length).toBeGreaterThan(80);
  expect(
    // A star stands for either database, a word in capitals for any name.
    named.filter(({ name }) => !/NAME/.test(name) && !exists(name.replace('*', 'sqlite'))),
  ).toEqual([]);
});

test('CONTRIBUTING.md names only npm scripts, tests and folders that exist', () => {
  const page = readFileSync(join(packageRoot, 'CONTRIBUTING.md'), 'utf8');
  const { scripts } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const named = [...page.matchAll(/\bnpm run ([\w:]+)|`(torture:\w+)`/g)].map(
    ([, one, other]) => one ?? other ?? '',
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  const tested = [...page.matchAll(/npx vitest run ([^`\n]+)/g)].flatMap(([, line = '']) =>
    line.split(' ').filter((word) => word.startsWith('test/')),
  );
  const folders = [...page.matchAll(/`((?:src|test|schema|packaging|docs)\/[\w/-]*\/)`/g)].map(
    ([, path = '']) => path,
  );
  expect(tested.length).toBeGreaterThan(15);
  expect(folders.length).toBeGreaterThan(10);
  expect([...tested, ...folders].filter((path) => !existsSync(join(packageRoot, path)))).toEqual([]);
});

test('pages about the code name only identifiers that the code contains', () => {
  const code = ['src', 'test', 'schema', '.ci']
    .flatMap((folder) =>
      readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
        join(folder, path),
      ),
    )
    .filter((path) => /\.(?:ts|mjs|js|sql)$/.test(path))
    .map((path) => readFileSync(join(packageRoot, path), 'utf8'));
  const words = new Set(code.flatMap((text) => text.match(/\w+/g) ?? []));
  const named = [...designPages, 'CONTRIBUTING.md'].flatMap((page) =>
    // Names in camel case are of this code: those of settings, columns and SQLite are in lower case.
    [
      ...readFileSync(join(packageRoot, page), 'utf8').matchAll(/`(?:\w+\.)?([A-Z]?[a-z]+(?:[A-Z]\w*)+)`/g),
    ].map(([, name = '']) => ({ page, name })),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ name }) => !words.has(name))).toEqual([]);
});
