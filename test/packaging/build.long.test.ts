import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { connectSqlite } from '../../src/store/dialect/sqlite/connect.js';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) {
    chmodSync(folder, 0o755);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

const tools = ['.ci', 'bin', 'schema', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];

function copyOf(root: string, names: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-clone-'));
  folders.push(folder);
  for (const name of names) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(packageRoot, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** A clone with its packages, in which the first commands built it. */
let original: string;
let firstCommands: readonly Awaited<ReturnType<typeof node>>[];
beforeAll(async () => {
  original = copyOf(packageRoot, [...tools, 'src']);
  folders.length = 0;
  firstCommands = await Promise.all([version(original), version(original), version(original)]);
});
afterAll(() => rmSync(original, { recursive: true, force: true, maxRetries: 5 }));

/** A clone with its packages and its build. */
function builtClone(): string {
  const folder = copyOf(original, [...tools, 'dist']);
  symlinkSync(join(original, 'src'), join(folder, 'src'));
  return folder;
}

const smallProgram = "#!/usr/bin/env node\nimport { name } from './name.js';\n\nconsole.log(name);\n";

/** A clone of a small program, which is built by the same tools many times faster. It has no build yet. */
function smallClone(): string {
  const folder = copyOf(packageRoot, tools);
  const write = (name: string, text: string) => writeFileSync(join(folder, 'src', name), text);
  for (const name of ['cli', 'console/assets', 'store'])
    mkdirSync(join(folder, 'src', name), { recursive: true });
  for (const name of ['main.ts', 'start.ts']) write(`cli/${name}`, smallProgram);
  write('cli/name.ts', "export const name = 'small';\n");
  write('console/assets/editor.js', 'export {};\n');
  write('store/query-builder.ts', 'export {};\n');
  return folder;
}

/** The same, with its build. */
async function builtSmallClone(): Promise<string> {
  const folder = smallClone();
  expect(await node(folder, ['.ci/build.mjs'])).toMatchObject({ code: 0 });
  return folder;
}

async function node(
  folder: string,
  args: readonly string[],
  { env = {}, ...options }: { uid?: number; env?: Record<string, string> } = {},
) {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    err += String(chunk);
  });
  const [code] = await once(child, 'close');
  return { code: code as number | null, out, err };
}

/** Replaces the link to all packages by one for each package except `name`, of which it returns an own copy. */
function ownPackage(folder: string, name: string): string {
  const modules = join(folder, 'node_modules');
  rmSync(modules);
  mkdirSync(modules);
  for (const other of readdirSync(join(packageRoot, 'node_modules')))
    if (other !== name) symlinkSync(join(packageRoot, 'node_modules', other), join(modules, other));
  const copy = join(modules, name);
  cpSync(join(packageRoot, 'node_modules', name), copy, {
    recursive: true,
    filter: (path) => !path.includes(join(name, 'deps')),
  });
  return copy;
}

const version = (folder: string) => node(folder, ['bin/rosterd.js', 'version']);

test('the first command in a clone builds it once, and the others wait for the build', () => {
  for (const { code, out } of firstCommands)
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^rosterd \d/) });
  expect(new Set(firstCommands.map(({ out }) => out)).size).toBe(1);
  expect(firstCommands.filter(({ err }) => err.includes('building rosterd')).length).toBe(1);
  expect(readdirSync(join(original, '.cache'))).toEqual([]);
});

test('the build runs again when the content of a source changes, and not when only its time does', async () => {
  const folder = await builtSmallClone();
  const file = join(folder, 'src/cli/name.ts');
  utimesSync(file, new Date(), new Date());
  expect(await version(folder)).toEqual({ code: 0, out: 'small\n', err: '' });
  writeFileSync(file, "export const name = 'changed';\n");
  const { code, out, err } = await version(folder);
  expect({ code, out }).toEqual({ code: 0, out: 'changed\n' });
  expect(err).toMatch(/^building rosterd from src\/ …\nbuilt in [\d.]+ s\n$/);
});

test('a source that cannot be compiled leaves the existing build and no lock', async () => {
  const folder = await builtSmallClone();
  appendFileSync(join(folder, 'src/cli/main.ts'), 'const = ;\n');
  const { code, err } = await version(folder);
  expect(code).toBe(1);
  expect(err).toMatch(/src\/cli\/main\.ts:5:6:/);
  expect(err).toMatch(/error: src\/ cannot be translated\nTry: npm run types\n$/);
  expect(await node(folder, ['dist/cli/main.js'])).toEqual({ code: 0, out: 'small\n', err: '' });
  expect(readdirSync(join(folder, '.cache'))).toEqual([]);
});

test('the next build takes over the lock of a killed one', async () => {
  const folder = smallClone();
  const killed = spawn(process.execPath, ['-e', '']);
  await once(killed, 'close');
  mkdirSync(join(folder, '.cache'));
  writeFileSync(join(folder, '.cache/build.lock'), `${killed.pid}\n`);
  expect(await version(folder)).toMatchObject({ code: 0 });
  expect(existsSync(join(folder, '.cache/build.lock'))).toBe(false);
});

test('a stale clone in a read-only folder reports it and the next step', async () => {
  const folder = smallClone();
  chmodSync(folder, 0o555);
  // The superuser may write everywhere.
  const { code, out, err } = await node(folder, ['bin/rosterd.js', 'version'], {
    ...(process.getuid?.() === 0 ? { uid: 65_534 } : {}),
  });
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(
    /^error: dist\/ is not made from the present sources, and .+ cannot be written\nTry: .+\n$/,
  );
});

test('an installation without its build or its driver reports that in two lines', async () => {
  const folder = builtClone();
  rmSync(join(folder, 'node_modules'));
  const hint = 'Try: npm ci';
  expect(await version(folder)).toEqual({
    code: 1,
    out: '',
    err: `error: this installation is not complete (commander is missing)\n${hint}\n`,
  });
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(packageRoot, 'node_modules')))
    if (name !== 'better-sqlite3') symlinkSync(join(packageRoot, 'node_modules', name), join(modules, name));
  expect(await node(folder, ['bin/rosterd.js', 'sandbox', '--listen', '127.0.0.1:0'])).toEqual({
    code: 1,
    out: '',
    err: `error: this installation is not complete (better-sqlite3 is missing)\n${hint}\n`,
  });
  rmSync(join(folder, '.ci'), { recursive: true });
  rmSync(modules, { recursive: true });
  expect((await version(folder)).err).toBe(
    'error: this installation is not complete (commander is missing)\nTry: npm install rosterd\n',
  );
  rmSync(join(folder, 'dist'), { recursive: true });
  expect(await version(folder)).toEqual({
    code: 1,
    out: '',
    err: 'error: this installation is not complete (dist/cli/main.js is missing)\nTry: npm install rosterd\n',
  });
});

test('status and query without the binary of SQLite for this machine report the same and name npm ci', async () => {
  const folder = builtClone();
  const prebuilds = join(ownPackage(folder, 'better-sqlite3'), 'prebuilds');
  const created = join(folder, 'mirror.db');
  connectSqlite(created).close();
  for (const name of readdirSync(prebuilds)) rmSync(join(prebuilds, name));
  const what = `the SQLite of better-sqlite3 for ${process.platform} ${process.arch} is missing`;
  for (const args of [['status'], ['query', 'SELECT 1']])
    expect(await node(folder, ['dist/cli/main.js', ...args, '--database', created])).toEqual({
      code: 1,
      out: '',
      err: `error: this installation is not complete (${what})\nTry: npm ci\n`,
    });
});

test('an installation without its migrations reports that in two lines', async () => {
  const folder = builtClone();
  rmSync(join(folder, 'schema'), { recursive: true });
  const { code, err } = await node(folder, ['bin/rosterd.js', 'sandbox', '--listen', '127.0.0.1:0']);
  expect({ code, err }).toEqual({
    code: 1,
    err: 'error: this installation is not complete (schema/platform is missing)\nTry: npm ci\n',
  });
});

test('a damaged package is reported in two lines', async () => {
  const folder = builtClone();
  const commander = ownPackage(folder, 'commander');
  writeFileSync(join(commander, 'index.js'), '');
  const hint = 'Try: npm ci';
  expect(await version(folder)).toEqual({
    code: 1,
    out: '',
    err: `error: this installation is not complete (commander is damaged)\n${hint}\n`,
  });
  writeFileSync(join(commander, 'index.js'), 'export const {');
  expect(await version(folder)).toEqual({
    code: 1,
    out: '',
    err: `error: this installation is not complete (a file is damaged)\n${hint}\n`,
  });
});

test('on Node 20, a clone names the command that brings or uses its own Node', async () => {
  const folder = builtClone();
  const lie = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' })";
  const old = ['--import', `data:text/javascript,${encodeURIComponent(lie)}`];
  const hint = async (script: string, env = {}) => {
    const { err } = await node(folder, [...old, script, 'status'], { env });
    return /Try: (.+)\n$/.exec(err)?.[1];
  };
  const install = 'npm ci (it installs Node 24 for this clone), or nvm install 24';
  expect(await hint('bin/rosterd.js')).toBe('npx rosterd …');
  expect(await hint('bin/rosterd.js', { npm_execpath: 'npm' })).toBe(install);
  rmSync(join(folder, 'node_modules'));
  expect(await hint('bin/rosterd.js')).toBe(install);
  expect(await hint('.ci/start.mjs')).toBe(install);
  rmSync(join(folder, 'dist'), { recursive: true });
  expect(await hint('bin/rosterd.js')).toBe('npm ci');
  expect(await hint('.ci/start.mjs')).toMatch(/^npm ci/);
  for (const name of ['.ci', 'src']) rmSync(join(folder, name), { recursive: true });
  expect(await hint('bin/rosterd.js')).toBe('npm install rosterd');
});
