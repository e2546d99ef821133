import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { filledMirror } from './filled-mirror.js';

/** Runs a real, compiled process with a hard limit on file descriptors. */
async function run(limit: number, args: readonly string[], folder: string, token: string) {
  const program = [process.execPath, join(packageRoot, 'dist', 'cli', 'main.js'), ...args];
  const child = spawn('sh', ['-c', `ulimit -n ${limit} && exec "$0" "$@"`, ...program], {
    cwd: folder,
    env: { PATH: process.env.PATH, ACME: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, out, err };
}

test('with few file descriptors a command works or reports the limit and how to raise it, and never reports a bug', async () => {
  const world = await filledMirror(20);
  onTestFinished(() => world.close());
  await world.sync();
  const seen = { worked: 0, refused: 0 };
  for (const limit of [24, 28, 64]) {
    for (const args of [['status'], ['sync'], ['query', 'SELECT 1'], ['doctor']]) {
      const { code, err } = await run(limit, args, world.folder, world.company.token);
      expect(`${limit} ${err}`).not.toMatch(/this is a bug|\bat .+:\d+:\d+/);
      if (code === 0) seen.worked += 1;
      else if (args[0] !== 'doctor' || err !== '') {
        seen.refused += 1;
        expect(`${limit}: ${err}`).toContain('cannot open more files and connections');
        expect(err).toContain(`its limit is ${limit}`);
        expect(err).toContain('ulimit -n 1024');
      }
    }
  }
  expect(seen.worked).toBeGreaterThan(0);
  expect(seen.refused).toBeGreaterThan(0);
});
