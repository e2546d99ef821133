import { accessSync, chmodSync, constants, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';

const memoryFolder = '/dev/shm';
/** Several times what a whole run holds at its peak. */
const freeBytesMin = 6 * 1024 ** 3;

/**
 * Builds dist/, from which the tests start the product's processes, and puts their temporary files into memory
 * where there is room: tests create thousands of databases, and each commit waits for its disk. The simulator
 * tests machine crashes with its own disk. What the caller's environment sets for rosterd or for clients of PostgreSQL is
 * removed, because it would apply to the tests.
 */
export default async function setup(): Promise<() => void> {
  forgetSettings();
  const { ensureBuilt } = (await import('../../.ci/build.mjs' as string)) as { ensureBuilt(): Promise<void> };
  await ensureBuilt();
  process.env.BUILT_CHILDREN = '1';
  process.env.NODE_COMPILE_CACHE = join(packageRoot, '.cache', 'compiled');
  mkdirSync(process.env.NODE_COMPILE_CACHE, { recursive: true });
  if (!hasRoom()) return () => {};
  const folder = mkdtempSync(join(memoryFolder, 'rosterd-tests-'));
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function forgetSettings(): void {
  for (const name of Object.keys(process.env))
    if (/^(?:ROSTERD_(?!TEST_)|PG)/.test(name)) delete process.env[name];
}

function hasRoom(): boolean {
  try {
    accessSync(memoryFolder, constants.W_OK);
    const { bavail, bsize } = statfsSync(memoryFolder);
    return bavail * bsize > freeBytesMin;
  } catch {
    return false;
  }
}
