import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';

async function rosterd(args: readonly string[], output: 'read' | 'closed' | number = 'read') {
  const main = join(packageRoot, 'dist', 'cli', 'main.js');
  const child = spawn(process.execPath, [main, ...args], {
    cwd: packageRoot,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', typeof output === 'number' ? output : 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stderr?.on('data', (chunk) => {
    err += String(chunk);
  });
  if (output === 'closed') child.stdout?.destroy();
  child.stdout?.on('data', (chunk) => {
    out += String(chunk);
  });
  const [code] = await once(child, 'close');
  return { code: code as number | null, out, err };
}

test('a long result arrives completely through a pipe, with its exit code', async () => {
  const { code, out, err } = await rosterd(['config', 'schema']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toHaveProperty('properties.sources');
});

test('a closed pipe (`| head`) is not an error', async () => {
  expect(await rosterd(['config', 'schema'], 'closed')).toEqual({ code: 0, out: '', err: '' });
});

test.runIf(existsSync('/dev/full'))('a result that a full disk cut short is a failure', async () => {
  const full = openSync('/dev/full', 'w');
  const { code, err } = await rosterd(['config', 'schema'], full);
  closeSync(full);
  expect(code).toBe(1);
  expect(err).toBe(
    'error: the result could not be written (ENOSPC)\nTry: again with another destination for the output\n',
  );
});

test('a usage error exits 2 and prints nothing to stdout', async () => {
  const { code, out, err } = await rosterd(['config', 'valdate']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('Did you mean validate?');
});
