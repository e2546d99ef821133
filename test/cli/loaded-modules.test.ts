import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { migratedDatabase } from '../store/mirror-fixture.js';
import { tempFolder } from '../store/temp-folder.js';

/*
 * People and scripts wait for these commands, and most of the time of a short command is the loading of modules. A
 * higher number here makes every call slower: load the module where it is needed, inside the function.
 */

const program = join(packageRoot, 'dist/cli/main.js');

/** Records every module that is loaded, and whether Node loaded its own copy of undici, which `node:http` names. */
const recorder = `
  import { registerHooks } from 'node:module';
  import { writeFileSync } from 'node:fs';
  const urls = [];
  registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
  process.on('exit', () => {
    const inner = process.moduleLoadList.filter((name) => name.includes('internal/deps/undici'));
    writeFileSync(process.env.LOADED, JSON.stringify([...urls, ...inner]));
  });
`;

const hook = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** A folder with a configuration and a mirror. */
function place(baseUrl = 'https://api.example.com'): string {
  const folder = tempFolder();
  writeFileSync(join(folder, 'recorder.mjs'), recorder);
  const config = {
    platform: { baseUrl },
    database: 'sqlite:mirror.db',
    sources: [{ name: 'acme', token: { env: 'ACME' } }],
    receiver: { secrets: [{ env: 'HOOK' }] },
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  migratedDatabase(join(folder, 'mirror.db'));
  return folder;
}

const asked = new Map<string, readonly string[]>();

/** Runs the command once. */
function loadedBy(...args: readonly string[]): readonly string[] {
  const modules = asked.get(args.join(' ')) ?? load(args);
  asked.set(args.join(' '), modules);
  return modules;
}

function load(args: readonly string[]): readonly string[] {
  const folder = place();
  const loaded = join(folder, 'loaded.json');
  execFileSync(process.execPath, ['--import', join(folder, 'recorder.mjs'), program, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, LOADED: loaded },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return JSON.parse(readFileSync(loaded, 'utf8'));
}

test('only rosterd mcp loads the SDK of assistants, and not for its help', () => {
  const sdk = (...args: readonly string[]) =>
    loadedBy(...args).filter((module) => module.includes('@modelcontextprotocol/'));
  for (const args of [
    ['--help'],
    ['mcp', '--help'],
    ['status'],
    ['query', 'SELECT 1'],
    ['changes'],
    ['schema'],
  ])
    expect([args, sdk(...args)]).toEqual([args, []]);
  // Its stdin is closed, so it ends at once.
  expect(sdk('mcp').length).toBeGreaterThan(0);
});

/** What only a daemon, a server or a wrong configuration needs. */
const heavy =
  /node_modules\/(?!commander\/|better-sqlite3\/|bindings\/|file-uri-to-path\/)|^node:https?$|^node:crypto$|undici/;

test.each([
  ['--help', 34],
  ['status', 99],
  ['query', 82],
] as const)('rosterd %s loads no driver or library that it does not use, and few files', (command, most) => {
  const loaded = loadedBy(command, ...(command === 'query' ? ['SELECT 1'] : []));
  expect(loaded.filter((module) => heavy.test(module))).toEqual([]);
  expect(loaded.filter((module) => module.includes('better-sqlite3')).length > 0).toBe(command === 'status');
  const own = loaded.filter((module) => module.includes('/dist/'));
  expect(own.length).toBeLessThanOrEqual(most);
});

test('rosterd sync on SQLite loads no driver of PostgreSQL, nothing for terminals, and Kysely as one file', () => {
  const folder = place('http://127.0.0.1:9');
  const loaded = join(folder, 'loaded.json');
  const env = { PATH: process.env.PATH, LOADED: loaded, ACME: 'token', HOOK: hook };
  const { stderr } = spawnSync(
    process.execPath,
    ['--import', join(folder, 'recorder.mjs'), program, 'sync'],
    {
      cwd: folder,
      encoding: 'utf8',
      env,
    },
  );
  expect(stderr).toContain('127.0.0.1:9');
  const modules: readonly string[] = JSON.parse(readFileSync(loaded, 'utf8'));
  expect(modules.filter((module) => module.endsWith('/dist/store/query-builder.js'))).toHaveLength(1);
  expect(modules.filter((module) => /node_modules\/(?:kysely|pg|pino-pretty)\//.test(module))).toEqual([]);
});
