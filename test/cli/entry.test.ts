import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { nodeTooOld, oldestNode, testedNodeLines } from '../../src/runtime/supported-node.js';
import { tempFolder } from '../store/temp-folder.js';

const at = (path: string) => join(packageRoot, path);

/** Runs a process that reports another version of one component of its runtime from its first statement on. */
async function onRuntime(component: string, version: string, args: readonly string[]) {
  const versions = `{ ...process.versions, ${component}: '${version}' }`;
  const lie = `Object.defineProperty(process, 'versions', { value: ${versions} })`;
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(lie)}`, ...args],
    { cwd: packageRoot, env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += String(chunk);
    });
  const [code] = await once(child, 'close');
  return { code: code as number | null, said };
}

test.each([
  ['dist/cli/main.js', []],
  ['dist/cli/main.js', ['--help']],
  ['dist/cli/main.js', ['status', '--json']],
  ['dist/cli/main.js', ['no-such-command']],
  ['dist/cli/start.js', []],
])('on Node 20, %s %j reports the required Node version and exits 2', async (entry, args) => {
  expect(await onRuntime('node', '20.20.2', [entry, ...args])).toEqual({
    code: 2,
    said: `error: Node 20.20.2 is too old for rosterd, which needs Node ${oldestNode} or later\nTry: npx rosterd …\n`,
  });
});

test('on Node 20, importing the library throws an error of one sentence', async () => {
  const program = `import('${at('dist/index.js')}').catch((error) => console.log(error.stack))`;
  expect(await onRuntime('node', '20.20.2', ['-e', program])).toEqual({
    code: 0,
    said: `Error: Node 20.20.2 is too old for rosterd, which needs Node ${oldestNode} or later. Try: nvm install 24\n`,
  });
});

const notNode = [
  ['bun', 'this is Bun 3, and rosterd needs Node', 'npx rosterd …'],
  ['deno', 'this is Deno 3, and rosterd needs Node', 'npx rosterd …'],
  [
    'pnp',
    "Yarn Plug'n'Play cannot sync a file to the disk, and rosterd needs that",
    'yarn config set nodeLinker node-modules && yarn install',
  ],
] as const;

test.each(notNode)(
  'a runtime with "%s" among its versions is refused, with what to do',
  async (component, message, hint) => {
    const program = `import('${at('dist/index.js')}').catch((error) => console.log(error.stack))`;
    expect(await onRuntime(component, '3', ['dist/cli/main.js', 'status'])).toEqual({
      code: 2,
      said: `error: ${message}\nTry: ${hint}\n`,
    });
    expect(await onRuntime(component, '3', ['-e', program])).toEqual({
      code: 0,
      said: `Error: ${message}. Try: ${hint}\n`,
    });
  },
);

test.skipIf(process.platform === 'win32')(
  'a command in a folder that was deleted says so and exits 1',
  () => {
    const folder = tempFolder();
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', 'rmdir "$1" && exec "$2" "$3" version', 'sh', folder, process.execPath, at('dist/cli/main.js')],
      { cwd: folder, encoding: 'utf8' },
    );
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr:
        'error: the current folder does not exist any more\nTry: the same command in a folder that exists\n',
    });
  },
);

test.each([
  ['22.19.0', true],
  ['22.18.9', false],
  ['21.7.3', false],
  ['24.0.0', true],
  ['27.1.0', true],
])('Node %s is supported: %s', (version, enough) => {
  expect(nodeTooOld(version) === null).toBe(enough);
});

test('the library loads the Node version check first', () => {
  const [first] = /^(?:import|export) (?!type).*/m.exec(readFileSync(at('src/index.ts'), 'utf8')) ?? [];
  expect(first).toBe("import './runtime/require-node.js';");
});

test('package.json, the lock file and the check agree on the oldest Node', () => {
  const engines = { node: `>=${oldestNode.replace(/\.0$/, '')}` };
  const lock = JSON.parse(readFileSync(at('package-lock.json'), 'utf8'));
  expect(JSON.parse(readFileSync(at('package.json'), 'utf8')).engines).toEqual(engines);
  expect(lock.packages[''].engines).toEqual(engines);
  expect(testedNodeLines).toContain(Number.parseInt(oldestNode, 10));
});
