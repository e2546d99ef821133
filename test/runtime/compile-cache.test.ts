import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cacheFolder } from '../../src/runtime/compile-cache.js';
import { packageRoot } from '../../src/runtime/package-root.js';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'rosterd-cache-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const program = join(packageRoot, 'dist/cli/main.js');
const version = (env: Readonly<Record<string, string>>) =>
  execFileSync(process.execPath, [program, '--version'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...env },
  });

test('the compile cache is in the cache folder of the user, and nowhere without a home', () => {
  expect(cacheFolder({ HOME: '/home/ann' })).toBe('/home/ann/.cache/rosterd/compiled');
  expect(cacheFolder({ HOME: '/home/ann', XDG_CACHE_HOME: '/caches' })).toBe('/caches/rosterd/compiled');
  expect(cacheFolder({ HOME: '/home/ann', XDG_CACHE_HOME: 'relative' })).toBe(
    '/home/ann/.cache/rosterd/compiled',
  );
  expect([cacheFolder({}), cacheFolder({ HOME: 'relative' })]).toEqual([null, null]);
});

test('a command keeps its compiled code in a folder that only its user can write', () => {
  const home = folder();
  version({ HOME: home });
  const cache = join(home, '.cache/rosterd/compiled');
  expect(statSync(cache).mode & 0o777).toBe(0o700);
  expect(readdirSync(cache)).toHaveLength(1);
});

test('compiled code is not used from a folder that others can write, nor where Node is told otherwise', () => {
  const home = folder();
  const cache = join(home, '.cache/rosterd/compiled');
  mkdirSync(cache, { recursive: true });
  chmodSync(cache, 0o777);
  version({ HOME: home });
  expect(readdirSync(cache)).toEqual([]);
  chmodSync(cache, 0o700);
  version({ HOME: home, NODE_DISABLE_COMPILE_CACHE: '1' });
  expect(readdirSync(cache)).toEqual([]);
});

test('a command works where no cache can be made', () => {
  const home = folder();
  writeFileSync(join(home, '.cache'), 'a file');
  expect(version({ HOME: home })).toBe(version({}));
  // Node's recursive mkdir never ends there.
  expect(version({ HOME: '/proc/rosterd' })).toBe(version({}));
});
