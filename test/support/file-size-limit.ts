import { spawnSync } from 'node:child_process';

/** Limits the size of a file that this process writes, which fails with EFBIG then. Returns false where that is not possible. */
export function mayWriteUpTo(bytes: number | 'unlimited'): boolean {
  return spawnSync('prlimit', [`--pid=${process.pid}`, `--fsize=${bytes}:`]).status === 0;
}
