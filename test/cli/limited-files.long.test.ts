import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { tempFolder } from '../store/temp-folder.js';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

let world: FilledMirror;
beforeAll(async () => {
  world = await filledMirror(600);
  await world.sync();
});
afterAll(() => world.close());

/** Runs the command line with a limit on the size of files, in units of 512 or 1,024 bytes: a disk that fills up. */
async function limited(size: number, args: readonly string[], cwd: string) {
  const main = join(packageRoot, 'dist', 'cli', 'main.js');
  const script = `ulimit -f ${size}; exec "$@"`;
  const child = spawn('/bin/sh', ['-c', script, 'sh', process.execPath, main, ...args], {
    cwd,
    env: { PATH: process.env.PATH, ACME: world.company.token },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const [code] = await once(child, 'close');
  return { code: code as number | null, err };
}

describe.skipIf(process.platform === 'win32')('when a file cannot be written to its end,', () => {
  test.each([
    ['export --out', ['--out', 'out/a.csv']],
    ['export --format xlsx', ['--out', 'out/a.xlsx']],
    ['export --table', ['--table', 'investments', '--table', 'rounds', '--out', 'out']],
  ])('%s that cannot write to the end names the file and leaves nothing', async (_, args) => {
    const out = tempFolder();
    const { err } = await limited(
      64,
      [
        'export',
        '--config',
        join(world.folder, 'config.json'),
        ...args.map((arg) => arg.replace(/^out/, out)),
      ],
      out,
    );
    expect(err).toMatch(/^error: \S+ cannot be written \(EFBIG\)\nTry: .+\n$/);
    expect(readdirSync(out)).toEqual([]);
  });

  test.each([
    [
      'init',
      ['init', '--no-doctor', '--base-url', 'http://127.0.0.1:4010', '--source', 'a', '--token-env', 'A'],
    ],
    ['support-bundle', ['support-bundle', 'bundle.json']],
  ])('%s that cannot write to the end leaves no file', async (_, args) => {
    const folder = tempFolder();
    const { code, err } = await limited(0, args, folder);
    expect(err).toMatch(/^error: \S+ cannot be written \(EFBIG\)\nTry: .+\n$/);
    expect(code).toBe(2);
    expect(readdirSync(folder)).toEqual([]);
  });
});
