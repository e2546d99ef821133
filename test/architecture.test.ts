import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../src/runtime/package-root.js';
import { circlesIn, type ImportGraph } from './support/import-circles.js';
import { type Node, nodesOf, stringOf, syntaxOf } from './support/syntax.js';

/** The import table that ARCHITECTURE.md draws. A folder may import itself, the folders named here, and these packages. */
interface Room {
  readonly rooms: readonly string[];
  readonly packages: readonly string[];
}

const core = ['domain', 'wire', 'runtime'];

const rooms: Readonly<Record<string, Room>> = {
  domain: { rooms: [], packages: [] },
  wire: { rooms: ['domain'], packages: [] },
  runtime: { rooms: ['domain'], packages: [] },
  config: { rooms: core, packages: ['zod'] },
  client: { rooms: core, packages: ['undici'] },
  sync: { rooms: core, packages: [] },
  verify: { rooms: core, packages: [] },
  dimensions: { rooms: core, packages: [] },
  installations: { rooms: core, packages: ['p-queue'] },
  store: { rooms: core, packages: ['kysely', 'better-sqlite3', 'pg', 'pg-copy-streams'] },
  fleet: { rooms: core, packages: [] },
  vault: { rooms: core, packages: [] },
  inbox: { rooms: core, packages: ['express'] },
  outbox: { rooms: core, packages: ['standardwebhooks'] },
  exports: { rooms: core, packages: ['@duckdb/node-api'] },
  console: { rooms: core, packages: ['express', 'prom-client'] },
  platform: { rooms: core, packages: ['zod', 'zod-openapi'] },
  endpoint: { rooms: [...core, 'config', 'client'], packages: [] },
  reading: { rooms: [...core, 'config', 'store', 'exports', 'endpoint', 'vault'], packages: [] },
  daemon: {
    rooms: [
      ...[...core, 'config', 'client', 'sync', 'store', 'fleet', 'inbox', 'outbox', 'exports', 'console'],
      ...['endpoint', 'reading', 'dimensions', 'installations'],
    ],
    packages: ['pino', 'pino-pretty'],
  },
  tasks: {
    rooms: [
      ...[...core, 'config', 'client', 'sync', 'verify', 'store', 'outbox', 'platform', 'reading', 'daemon'],
    ],
    packages: [],
  },
  doctor: {
    rooms: [...core, 'config', 'client', 'sync', 'store', 'endpoint', 'reading', 'daemon'],
    packages: [],
  },
  assistants: {
    rooms: [...core, 'config', 'store', 'reading'],
    packages: ['@modelcontextprotocol/server', 'zod'],
  },
  cli: {
    rooms: [...core, 'config', 'reading', 'daemon', 'tasks', 'doctor', 'assistants'],
    packages: ['commander'],
  },
};

/** Subfolders with additional packages: the platform's database is opened in one place. */
const packagesOfFolder: Readonly<Record<string, readonly string[]>> = {
  'platform/state/': ['better-sqlite3'],
};

/** A port declares what its owner needs. The folders that implement it or pass it in may import it. */
const portReaders = [
  ...[
    'client',
    'sync',
    'verify',
    'dimensions',
    'installations',
    'store',
    'fleet',
    'inbox',
    'outbox',
    'exports',
    'console',
    'endpoint',
  ],
  ...['reading', 'daemon', 'tasks', 'doctor'],
];
const portFile =
  /^(?:sync|verify|dimensions|installations|store|fleet|inbox|outbox|exports|console|vault)\/ports(?:\/.+)?\.ts$/;

/** Files outside `runtime` that use clock or randomness directly, with the reason. */
const ambientAllowed: Readonly<Record<string, string>> = {};

/** Files outside `cli` that may end the process, with the reason. */
const processAllowed: Readonly<Record<string, string>> = {
  'runtime/own-child.ts': 'it runs in child processes alone, which exit with their parent',
};

/** Files outside the dialects and the configuration that ask which database it is, with the reason. */
const kindAllowed: Readonly<Record<string, string>> = {
  'store/database-location.ts': 'defines the kinds of location, and the text that messages show for each',
  'daemon/open-mirror.ts':
    'builds the mirror of each database from parts of the daemon (write gate, batches) that store may not import',
  'doctor/doctor.ts': 'runs other checks for a file than for a server, and store may not import the doctor',
  'tasks/migrate.ts': 'accepts one pair of databases only, from SQLite to PostgreSQL',
};

const ambient =
  /\b(?:Date\.now|Math\.random|performance\.now|setTimeout|setInterval|new Date\(\)|crypto\.randomUUID|randomUUID)\b/;

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
  /** The imports that are loaded together with the file. */
  readonly eager: readonly string[];
  readonly code: string;
  readonly comments: readonly string[];
  /** Uses of `any`, and assertions through `unknown`. */
  readonly optOuts: readonly string[];
  /** Comparisons with the kind of a database. */
  readonly kindsAsked: readonly string[];
}

const files = readdirSync(join(packageRoot, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => path.replaceAll('\\', '/'))
  .sort()
  .map(sourceFile);

function sourceFile(path: string): SourceFile {
  const text = readFileSync(join(packageRoot, 'src', path), 'utf8');
  return { path, room: path.includes('/') ? (path.split('/')[0] ?? '') : '', text, ...read(path, text) };
}

/** Parses a file: its imports and re-exports, its code without comments and strings, its comments. */
function read(path: string, text: string): Omit<SourceFile, 'path' | 'room' | 'text'> {
  const { root, comments } = syntaxOf(path, text);
  const imports: string[] = [];
  const eager: string[] = [];
  const silent = [...comments];
  const optOuts: string[] = [];
  const kindsAsked: string[] = [];
  for (const node of nodesOf(root)) {
    const imported = importOf(node);
    if (imported !== undefined) imports.push(imported.specifier);
    if (imported?.eager === true) eager.push(imported.specifier);
    if (node.type === 'TSAnyKeyword' || throughUnknown(node)) optOuts.push(text.slice(node.start, node.end));
    if (asksForKind(node)) kindsAsked.push(text.slice(node.start, node.end));
    if (node.type === 'TemplateElement' || stringOf(node) !== undefined) silent.push(node);
  }
  let code = '';
  let at = 0;
  for (const { start, end } of silent.sort((a, b) => a.start - b.start)) {
    code += `${text.slice(at, start)} `;
    at = end;
  }
  code += text.slice(at);
  return {
    imports,
    eager,
    code,
    comments: comments.map(({ start, end }) => text.slice(start, end)),
    optOuts,
    kindsAsked,
  };
}

function importOf(node: Node): { specifier: string; eager: boolean } | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
      return { specifier: node.source.value, eager: node.importKind !== 'type' };
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return node.source === null
        ? undefined
        : { specifier: node.source.value, eager: node.exportKind !== 'type' };
    case 'ImportExpression':
      return { specifier: stringOf(node.source) ?? '(computed)', eager: false };
    case 'TSImportType':
      return { specifier: node.source.value, eager: false };
    default:
      return undefined;
  }
}

function throughUnknown(node: Node): boolean {
  if (!isAssertion(node)) return false;
  let expression: Node = node.expression;
  while (expression.type === 'ParenthesizedExpression') ({ expression } = expression);
  return isAssertion(expression) && expression.typeAnnotation.type === 'TSUnknownKeyword';
}

/** Returns whether a comparison or a `case` names the kind of a database. */
function asksForKind(node: Node): boolean {
  if (node.type === 'SwitchCase') return node.test !== null && isKind(node.test);
  if (node.type !== 'BinaryExpression' || !/^[!=]==?$/.test(node.operator)) return false;
  return isKind(node.left) || isKind(node.right);
}

function isKind(node: Node): boolean {
  return ['sqlite', 'postgres'].includes(stringOf(node) ?? '');
}

function isAssertion(node: Node) {
  return node.type === 'TSAsExpression' || node.type === 'TSTypeAssertion';
}

/** Returns the path below `src` of a relative import. */
function importedFile(path: string, specifier: string): string {
  return normalize(join(dirname(path), specifier))
    .replaceAll('\\', '/')
    .replace(/\.js$/, '.ts');
}

/** Returns why an import is not allowed; undefined when it is. */
function objection(file: SourceFile, specifier: string): string | undefined {
  if (specifier.startsWith('.')) {
    const target = importedFile(file.path, specifier);
    const room = target.includes('/') ? (target.split('/')[0] ?? '') : '';
    if (file.room === '') return room === 'cli' ? 'no folder may import cli' : undefined;
    if (room === file.room || rooms[file.room]?.rooms.includes(room)) return undefined;
    if (portFile.test(target) && portReaders.includes(file.room)) return undefined;
    return `${file.room} may not import ${room}`;
  }
  const name = specifier.replace(/^node:/, '');
  if (builtinModules.includes(name)) {
    return file.room === 'domain' || file.room === 'wire' ? `${file.room} is free of Node` : undefined;
  }
  const packageName = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  const folder = Object.keys(packagesOfFolder).find((prefix) => file.path.startsWith(prefix)) ?? '';
  const allowed = [...(rooms[file.room]?.packages ?? []), ...(packagesOfFolder[folder] ?? [])];
  return allowed.includes(packageName)
    ? undefined
    : `${file.room || 'the root'} may not import ${packageName}`;
}

const complaints = (find: (file: SourceFile) => readonly string[]) =>
  files.flatMap((file) => find(file).map((what) => `src/${file.path}: ${what}`));

test('there are source files to check, and every folder is in the table', () => {
  expect(files.length).toBeGreaterThan(50);
  expect(complaints(({ room }) => (room === '' || room in rooms ? [] : [`unknown room ${room}`]))).toEqual(
    [],
  );
});

test('the only file at the root is the public entry point', () => {
  expect(files.filter(({ room }) => room === '').map(({ path }) => path)).toEqual(['index.ts']);
});

test('every import is allowed by the table', () => {
  const found = complaints((file) =>
    file.imports.flatMap((specifier) => {
      const why = objection(file, specifier);
      return why === undefined ? [] : [`${specifier}: ${why}`];
    }),
  );
  expect(found).toEqual([]);
});

test('every package allowed to a folder is imported there', () => {
  const unused = Object.entries(rooms).flatMap(([room, { packages }]) =>
    packages
      .filter(
        (name) =>
          !files.some((file) => file.room === room && file.imports.some((one) => one.startsWith(name))),
      )
      .map((name) => `${room}: ${name}`),
  );
  expect(unused).toEqual([]);
});

test.each([
  ['domain/money.ts', '../runtime/clock.js', true],
  ['domain/money.ts', 'node:fs', true],
  ['store/rows.ts', '../sync/ports.js', false],
  ['store/rows.ts', '../sync/decide.js', true],
  ['platform/http/step.ts', '../../sync/ports.js', true],
  ['platform/http/step.ts', 'better-sqlite3', true],
  ['platform/state/database.ts', 'better-sqlite3', false],
  ['outbox/deliver.ts', 'undici', true],
  ['daemon/build.ts', '../cli/run.js', true],
  ['cli/commands/sync.ts', '../../store/mirror.js', true],
  ['index.ts', './cli/run.js', true],
  ['index.ts', './client/feed.js', false],
])('the import table decides about %s importing %s', (path, specifier, refused) => {
  const file = {
    path,
    room: path.includes('/') ? (path.split('/')[0] ?? '') : '',
    text: '',
    imports: [],
    eager: [],
    code: '',
    comments: [],
    optOuts: [],
    kindsAsked: [],
  };
  expect(objection(file, specifier) !== undefined).toBe(refused);
});

test('no import path is computed, so that the table covers all of them', () => {
  expect(complaints((file) => file.imports.filter((specifier) => specifier === '(computed)'))).toEqual([]);
});

test('every exported function, class and constant is named in another file', () => {
  const tests = readdirSync(join(packageRoot, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(packageRoot, 'test', path), 'utf8'));
  const filesWith = new Map<string, number>();
  for (const text of [...files.map((file) => file.text), ...tests])
    for (const word of new Set(text.match(/\w+/g))) filesWith.set(word, (filesWith.get(word) ?? 0) + 1);
  const exported = /^export (?:async )?(?:const|function\*?|class) (\w+)/gm;
  const found = complaints(({ text }) =>
    [...text.matchAll(exported)].flatMap(([, name = '']) => (filesWith.get(name) === 1 ? [name] : [])),
  );
  expect(found).toEqual([]);
});

test('no files import one another in a circle, not even for types or dynamically', () => {
  const graph = Object.fromEntries(
    files.map(({ path, imports }) => [
      path,
      imports
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => importedFile(path, specifier)),
    ]),
  );
  expect(Object.values(graph).flat().length).toBeGreaterThan(1_000);
  expect(circlesIn(graph)).toEqual([]);
});

test.each([
  ['nothing', {}, []],
  ['a chain', { a: ['b'], b: ['c'], c: [] }, []],
  ['two ways to one file', { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, []],
  ['a file that imports itself', { a: ['a'] }, [['a']]],
  ['two files', { a: ['b'], b: ['a'] }, [['a', 'b']]],
  ['a circle of three behind a chain', { a: ['b'], b: ['c'], c: ['d'], d: ['b'] }, [['b', 'c', 'd']]],
  ['two circles that share a file', { a: ['b', 'c'], b: ['a'], c: ['a'] }, [['a', 'b', 'c']]],
  [
    'two circles apart, one importing the other',
    { a: ['b'], b: ['a', 'c'], c: ['d'], d: ['c'] },
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  ],
])('the search for import circles finds those of %s', (_, graph: ImportGraph, circles) => {
  expect(circlesIn(graph)).toEqual(circles);
});

test.each([
  [`import type { A } from './a.js';`],
  [`import { type A } from './a.js';`],
  [`export type { A } from './a.js';`],
  [`export * from './a.js';`],
  [`const a = await import('./a.js');`],
  [`type A = import('./a.js').A;`],
])('the search for import circles sees the import in %s', (text) => {
  expect(read('b.ts', text).imports).toEqual(['./a.js']);
});

/** Returns the packages loaded with these files, and the number of files loaded. */
function loadedWith(...entries: readonly string[]): { packages: readonly string[]; files: number } {
  const reached = new Set(entries);
  const packages = new Set<string>();
  for (const path of reached) {
    for (const specifier of files.find((file) => file.path === path)?.eager ?? []) {
      if (specifier.startsWith('.')) {
        reached.add(importedFile(path, specifier));
      } else if (!specifier.startsWith('node:')) packages.add(specifier);
    }
  }
  return { packages: [...packages].sort(), files: reached.size };
}

test('help is fast: only commander is loaded before a command runs', () => {
  expect(loadedWith('cli/main.ts', 'cli/start.ts').packages).toEqual([]);
  const { packages, files: count } = loadedWith('cli/command-line.ts', 'cli/start-args.ts');
  expect(packages).toEqual(['commander']);
  expect(count).toBeGreaterThan(10);
});

test('an old Node gets its message: almost nothing is loaded before the version check', () => {
  for (const entry of ['cli/main.ts', 'cli/start.ts'])
    expect(loadedWith(entry)).toEqual({ packages: [], files: 7 });
});

test('status is fast: only the driver of the configured database is loaded', () => {
  expect(loadedWith('reading/status.ts').packages).toEqual([]);
  expect(loadedWith('store/dialect/sqlite/snapshot.ts').packages).toEqual(['better-sqlite3']);
});

test('query and status on SQLite never load pg', () => {
  const sqlite = 'store/dialect/sqlite';
  const query = loadedWith('cli/commands/query.ts', 'reading/query.ts', `${sqlite}/query.ts`);
  expect(query.packages).toEqual([]);
  expect(query.files).toBeGreaterThan(20);
  const status = ['cli/commands/status.ts', 'reading/status.ts', 'reading/daemon-address.ts'];
  expect(loadedWith(...status, `${sqlite}/snapshot.ts`).packages).toEqual(['better-sqlite3']);
  expect(loadedWith(`${sqlite}/reader.ts`).packages).toEqual(['better-sqlite3', 'kysely']);
});

test('the daemon and every command load the query builder from the file that it is built into', () => {
  const builder = 'store/query-builder.ts';
  const others = files.filter(({ path, eager }) => path !== builder && eager.includes('kysely'));
  expect(others.map(({ path }) => path)).toEqual([]);
  expect(loadedWith(builder)).toEqual({ packages: ['kysely'], files: 1 });
});

test('a daemon on SQLite loads no pg', () => {
  for (const entry of ['daemon/open-sqlite-mirror.ts', 'store/inbox.ts', 'daemon/daemon.ts'])
    expect([entry, loadedWith(entry).packages]).toEqual([entry, expect.not.arrayContaining(['pg'])]);
});

test('choosing a dialect loads no driver', () => {
  expect(loadedWith('store/dialect/dialect-for.ts').packages).toEqual([]);
  const readers = files.filter(({ path }) => path.startsWith('store/reads/')).map(({ path }) => path);
  expect(loadedWith(...readers).packages).toEqual(['kysely']);
  expect(loadedWith('store/dialect/postgres/query.ts').packages).toContain('pg');
});

test('only the dialects and the configuration ask which database it is', () => {
  const mayAsk = /^(?:store\/dialect|config)\//;
  expect(
    complaints(({ path, kindsAsked }) => (mayAsk.test(path) || path in kindAllowed ? [] : kindsAsked)),
  ).toEqual([]);
  const asking = files.filter(({ kindsAsked }) => kindsAsked.length > 0).map(({ path }) => path);
  expect(Object.keys(kindAllowed).filter((path) => !asking.includes(path))).toEqual([]);
});

test.each([
  [`if (place.kind === 'sqlite') open();`, 1],
  [`const shared = 'postgres' !== kind;`, 1],
  [`switch (place.kind) { case 'sqlite': break; case 'postgres': break; default: }`, 2],
  [`const place = { kind: 'sqlite', file };`, 0],
  [`const newest = newestMigration('sqlite'); // kind === 'sqlite'`, 0],
])('the search for database kinds counts the comparisons in %s', (text, count) => {
  expect(read('a.ts', text).kindsAsked).toHaveLength(count);
});

test('queries start fast: their child processes load only the driver', () => {
  for (const child of ['query-child', 'reading-child'])
    expect(loadedWith(`store/dialect/sqlite/${child}.ts`).packages).toEqual(['better-sqlite3']);
});

test('names of files and folders are kebab-case', () => {
  expect(
    complaints(({ path }) =>
      path.split('/').every((part) => /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(basename(part, '.ts')))
        ? []
        : ['not kebab-case'],
    ),
  ).toEqual([]);
});

test('clock, timers and randomness are passed in, never used directly', () => {
  expect(
    complaints(({ path, room, code }) =>
      room === 'runtime' || path in ambientAllowed ? [] : (ambient.exec(code) ?? []),
    ),
  ).toEqual([]);
});

test("folders are made with makeFolders: Node's recursive mkdir never ends below /proc", () => {
  expect(complaints(({ code }) => /\bmkdir(?:Sync)?\([^;]*\brecursive\b/.exec(code) ?? [])).toEqual([]);
});

test('only cli prints, ends the process or sets its exit code', () => {
  const printing = /\b(?:console\.(?:log|info|warn|error|debug)|process\.(?:exit|exitCode|stdout|stderr))\b/;
  expect(
    complaints(({ path, room, code }) =>
      room === 'cli' || path in processAllowed ? [] : (printing.exec(code) ?? []),
    ),
  ).toEqual([]);
});

test('every listed exception still exists and has a reason', () => {
  const present = new Set(files.map(({ path }) => path));
  const exceptions = Object.entries({ ...ambientAllowed, ...processAllowed, ...kindAllowed });
  expect(exceptions.filter(([path, reason]) => !present.has(path) || reason.length < 10)).toEqual([]);
});

test('no type is bypassed and no check is suppressed', () => {
  const lookAway = /@ts-(?:ignore|expect-error|nocheck)|\bbiome-ignore\b/;
  expect(
    complaints(({ optOuts, comments }) => [...optOuts, ...comments.filter((one) => lookAway.test(one))]),
  ).toEqual([]);
});

test.each([
  ['const a = b as unknown as C;', 1],
  ['const a = (b as unknown) as C;', 1],
  ['const a = b as any;', 1],
  ['const a: Record<string, any[]> = {};', 1],
  ['const a = <C>(<unknown>b);', 1],
  ['/** As any other: any. */ const a = b as C;', 0],
])('the search for bypassed types counts those in %s', (text, count) => {
  expect(read('a.ts', text).optOuts).toHaveLength(count);
});

test('no comment leaves work for later', () => {
  expect(
    complaints(({ comments }) => comments.filter((comment) => /\b(?:TODO|FIXME|XXX|HACK)\b/i.test(comment))),
  ).toEqual([]);
});
