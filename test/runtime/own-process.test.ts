import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { tempFolder } from '../store/temp-folder.js';
import { placeMigrated } from '../support/migrated-file.js';

const dist = (path: string) => pathToFileURL(join(packageRoot, 'dist', path)).href;

/** Runs `script` in a process group of its own, as a shell does. `child` starts a child process, `say` prints a line. */
function parentOf(script: string) {
  const setup = `
    import { startOwnProcess } from '${dist('runtime/own-process.js')}';
    const say = (line) => console.log(line);
    const child = (caller, name) => startOwnProcess(caller, name);
    ${script}`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', setup], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const lines = createInterface({ input: parent.stdout })[Symbol.asyncIterator]();
  return { parent, line: async () => String((await lines.next()).value) };
}

test.skipIf(process.platform === 'win32')('Ctrl-C in a terminal does not end a child process', async () => {
  const { parent, line } = parentOf(`
    const reading = child('${dist('store/dialect/sqlite/reading-run.js')}', 'reading-child');
    const ask = (no) => reading.send({ no, session: 1, kind: 'open', file: '/nowhere/mirror.db' });
    reading.on('message', ({ no, kind }) => say(no + ' ' + kind));
    reading.once('exit', (code, signal) => say(signal ?? code));
    process.on('SIGINT', () => ask(2));
    ask(1);`);
  expect(await line()).toBe('1 failed');
  process.kill(-(parent.pid ?? 0), 'SIGINT');
  expect(await line()).toBe('2 failed');
});

test('a query that never returns ends when its parent was killed', async () => {
  const file = join(tempFolder(), 'mirror.db');
  placeMigrated(file);
  const sql = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
  const limits = { memoryMegabytes: 500, rowsMax: null, rowBytesMax: 1_000, bytesMax: null };
  const request = { file, sql, ...limits, identity: true, audit: true, asOf: null };
  const { parent, line } = parentOf(`
    const query = child('${dist('store/dialect/sqlite/query.js')}', 'query-child');
    query.once('message', ({ kind }) => say(kind + ' ' + query.pid));
    query.send({ kind: 'start', request: ${JSON.stringify(request)} });`);
  const [, columns] = /^columns (\d+)$/.exec(await line()) ?? [];
  const pid = Number(columns);
  onTestFinished(() => void (isAlive(pid) && process.kill(pid, 'SIGKILL')));
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  await expect.poll(() => isAlive(pid)).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('every script of a child process ends with its parent', () => {
  const source = join(packageRoot, 'src');
  const scripts = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('-child.ts'),
  );
  expect(scripts.length).toBeGreaterThanOrEqual(6);
  const others = scripts.filter(
    (path) => !/^endWithParent\(\);$/m.test(readFileSync(join(source, path), 'utf8')),
  );
  expect(others.filter((path) => !path.endsWith('own-child.ts'))).toEqual([]);
});

test('whatever starts a child process waits for its `close`, because its last message may come after `exit`', () => {
  const source = join(packageRoot, 'src');
  const texts = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => [path, readFileSync(join(source, path), 'utf8')] as const)
    .filter(([, text]) => /\bstartOwnProcess\(import/.test(text));
  expect(texts.length).toBeGreaterThanOrEqual(6);
  expect(
    texts.filter(([, text]) => /'exit'/.test(text) || !/'close'/.test(text)).map(([path]) => path),
  ).toEqual([]);
});

test.skipIf(process.platform !== 'linux')(
  'a child process, a program and pg_dump that cannot be started for lack of file descriptors are reported as that',
  async () => {
    const script = `
      import { openSync, closeSync } from 'node:fs';
      import { once } from 'node:events';
      import { lostProcess, startOwnProcess } from '${dist('runtime/own-process.js')}';
      import { majorOf, runTool } from '${dist('store/dialect/postgres/pg-tools.js')}';
      import '${dist('runtime/file-descriptors.js')}';
      const own = async () => {
        const child = startOwnProcess('${dist('store/dialect/sqlite/reading-run.js')}', 'reading-child');
        await once(child, 'error').then(([error]) => error);
        throw lostProcess('the process', child);
      };
      const opened = [];
      try { for (;;) opened.push(openSync('/', 'r')); } catch {}
      const found = [];
      for (const start of [
        own,
        () => majorOf('sh', process.env),
        () => runTool('sh', [], process.env, new AbortController().signal),
      ])
        found.push(await start().then(() => 'started', ({ code, message }) => code + ' ' + message));
      for (const one of opened) closeSync(one);
      console.log(JSON.stringify(found));`;
    const limited = [
      '-c',
      'ulimit -n 300; exec "$@"',
      'sh',
      process.execPath,
      '--input-type=module',
      '-e',
      script,
    ];
    const child = spawn('sh', limited, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const found = JSON.parse(String((await lines.next()).value)) as string[];
    expect(found).toEqual(
      Array(3).fill(
        expect.stringMatching(/^out_of_descriptors this process cannot open more files .*EMFILE/),
      ),
    );
  },
);
