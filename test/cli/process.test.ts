import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';

async function rosterd(args: readonly string[], closeOutput = false) {
  const main = join(packageRoot, 'src', 'cli', 'main.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', main, ...args], {
    cwd: packageRoot,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stderr.on('data', (chunk) => {
    err += String(chunk);
  });
  if (closeOutput) child.stdout.destroy();
  else {
    child.stdout.on('data', (chunk) => {
      out += String(chunk);
    });
  }
  const [code] = await once(child, 'close');
  return { code: code as number | null, out, err };
}

test('the whole of a long result arrives through a pipe, and the exit code with it', async () => {
  const { code, out, err } = await rosterd(['config', 'schema']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toHaveProperty('properties.sources');
});

test('a reader that is gone (`| head`) is no failure', async () => {
  expect(await rosterd(['config', 'schema'], true)).toEqual({ code: 0, out: '', err: '' });
});

test('a mistake of usage exits with 2 and nothing on stdout', async () => {
  const { code, out, err } = await rosterd(['config', 'valdate']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('Did you mean validate?');
});
